"""What must not grow: `python -m benchmarks.scale [--only metrics,consumer] [--scale 0.1]`."""
