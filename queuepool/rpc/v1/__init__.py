"""Generated from proto/queuepool/rpc/v1; `make stubs` writes it again."""
