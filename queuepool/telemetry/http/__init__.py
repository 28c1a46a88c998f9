"""A small HTTP server for strangers: one thread, few connections, a deadline for each.

What is served over it is in `queuepool.telemetry.metrics_server`.
"""
