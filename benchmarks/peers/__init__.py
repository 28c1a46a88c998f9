"""Other job queues, measured beside ours on the same work: `make bench-peers`, `make crash-peers`.

    pins.toml   what is installed, exactly        envs      where it is installed
    catalog     which queues, how many jobs       adapters  how each queue is driven
    stage       a fresh server and the processes  trials    what is measured
    summary     medians and tables                records   what the jobs wrote down

Only `adapters` runs inside the environments of the peers.
"""
