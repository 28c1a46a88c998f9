"""The gRPC API: authorization, limits and methods."""
