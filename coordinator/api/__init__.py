"""The gRPC API: who may call, what is answered."""
