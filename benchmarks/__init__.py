"""Benchmarks: `make bench` runs the suite, `make bench-scaling` the reference run of scaling."""
