"""How each queue is driven. These modules run in the environments of the peers.

    python -m benchmarks.peers.adapters NAME about             {"versions": {}, "settings": ""}
    python -m benchmarks.peers.adapters NAME produce ORDER     {"jobs": n, "seconds": s}
    python -m benchmarks.peers.adapters NAME work CONCURRENCY  runs until it is killed

Answers are the last line of the output, as JSON; ORDER is JSON (`harness.Order`). The adapter of
Node obeys the same three commands. Environment: PEERS_URL, PEERS_RECORDS (folder of the records),
PEERS_VARIANT, PEERS_PROCESSES (how many worker processes there will be).
"""
