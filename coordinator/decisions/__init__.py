"""The record of decisions with their inputs."""
