"""A consumer starts quickly: it imports what it needs, and of kinds of workers the one it runs."""

import subprocess
import sys

NEEDLESS = (
    "coordinator",
    "grpc",
    "rich",
    "consumer.loop.several",
    "consumer.workers.async_pool",
    "consumer.workers.processes",
    "importlib.readers",
    "queuepool.cli",
    "queuepool.process.embedded",
    "queuepool.process.forks",
    "queuepool.rpc",
    "queuepool.testing",
    "queuepool.verbs.leader",
)


def test_a_consumer_of_threads_imports_nothing_needless() -> None:
    code = (
        "import sys, consumer.__main__; "
        f"print(*[m for m in {NEEDLESS!r} if m in sys.modules], 'consumer.core' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.strip() == "True"
