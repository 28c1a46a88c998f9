"""The coordinator: a process that watches every partition and decides how many workers each has.

    policy/      pure: observation -> how many workers
    core         pure: one cycle over all partitions -> decisions, commands, checkpoints
    fleet        runs verbs on many partitions, one round trip per server
    observer     what is observed now        leadership   who may decide
    loop         the thread that owns it all and hands immutable snapshots to the rest
    status       the gRPC service over the snapshots      metrics   the same for Prometheus

It is never in the path of a job: without a coordinator, jobs flow and worker counts stay.
"""
