"""The operators' gRPC API: generated stubs in `v1`, a client, and the token check of servers.

Nothing outside this package, the command line and the coordinator imports it, so applications
that only enqueue never load grpc.
"""
