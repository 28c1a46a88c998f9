"""A small HTTP server for untrusted clients: one thread, few connections, a deadline for each.

`queuepool.telemetry.metrics_server` defines what it serves.
"""
