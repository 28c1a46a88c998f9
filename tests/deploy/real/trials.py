"""What is tried on a cluster of containers, in this order; each raises AssertionError."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.deploy.real.cluster import Cluster, table
from tests.deploy.real.engine import Engine
from tests.waiting import wait_until

MOST_BYTES = 200_000_000  # of the image, beyond its base
_EXAMPLE_ROWS, _ROWS = 10_000, 1_000
_CAPABILITIES = (
    "import re; print(re.findall('CapEff:\\t(\\\\w+)', open('/proc/1/status').read())[0])"
)


def image_is_small_and_confined(engine: Engine, cluster: Cluster, base: str) -> str:
    """Check the image's size and what its containers may do."""
    sizes = [int(engine.run("inspect", "-f", "{{.Size}}", name)) for name in ("queuepool", base)]
    more = sizes[0] - sizes[1]
    assert more <= MOST_BYTES, f"{more:,} bytes more than its base"
    for service in ("consumer", "coordinator"):
        cluster.wait_until_healthy(service)
        [container, *_] = cluster.containers(service)
        host = cluster.about(container)["HostConfig"]
        assert host["ReadonlyRootfs"] is True
        assert host["CapDrop"] == ["ALL"]
        assert engine.run("exec", container, "id", "-u").strip() == "10001"
        assert int(engine.run("exec", container, "python", "-c", _CAPABILITIES), 16) == 0
        assert not engine.succeeds("exec", container, "touch", "/app/x")
        assert not engine.succeeds("exec", container, "/opt/queuepool/bin/python", "-m", "pip")
        assert engine.succeeds("exec", container, "touch", "/tmp/x")
    return f"{more / 1e6:.0f} MB beyond its base; user 10001, read-only, no capabilities, no pip"


def the_example_runs(cluster: Cluster) -> str:
    """Run the bulk example of deploy/README.md."""
    words = ("bulk", "-", "--format", "csv", "--task", "write_row", "--key", "import-1", "--wait")
    code, text = cluster.queuepool(*words, text=table("example", _EXAMPLE_ROWS))
    assert code == 0, text
    assert cluster.rows() == (_EXAMPLE_ROWS, _EXAMPLE_ROWS)
    return f"{_EXAMPLE_ROWS:,} rows in the database"


def commands_reach_a_coordinator(cluster: Cluster) -> str:
    """Hold and release everything through the API, with the token."""
    coordinator = ("--grpc", "coordinator:50551")
    for word in ("hold", "release"):
        code, text = cluster.queuepool(word, "all", *coordinator)
        assert code == 0, text
    code, text = cluster.queuepool("check")
    assert code == 0, text
    return "hold, release and check succeed"


@dataclass(slots=True)
class Load:
    """Groups that a thread enqueues, one after the other; what fails is sent again."""

    cluster: Cluster
    enqueued: int = 0
    repeated: int = 0
    _stopping: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Enqueue until stopped; the last group is complete."""
        while not self._stopping.is_set():
            key = f"load-{self.enqueued}"
            words = ("bulk", "-", "--format", "csv", "--task", "write_row", "--key", key)
            while True:
                code, _ = self.cluster.queuepool(*words, text=table(key, _ROWS))
                if code == 0:
                    break
                self.repeated += 1  # the server was away: the ids are the same again
            self.enqueued += 1

    def stop(self) -> None:
        """Let the current group be the last."""
        self._stopping.set()


@contextmanager
def load(cluster: Cluster) -> Iterator[Load]:
    """Enqueue while the block runs."""
    made = Load(cluster)
    thread = threading.Thread(target=made.run)
    thread.start()
    try:
        yield made
    finally:
        made.stop()
        thread.join()


def nothing_is_lost(cluster: Cluster) -> str:
    """Kill a consumer, restart the server and replace every container, all under load."""
    before = cluster.rows()[0]
    with load(cluster) as jobs:
        wait_until(lambda: jobs.enqueued >= 1, 120, "load", interval_s=0.2)
        killed = _container_that_owns(cluster, 0)
        cluster.engine.run("kill", "--signal", "KILL", killed)
        wait_until(
            lambda: _owner(cluster, 0) not in ("", killed[:12]),
            120,
            "a standby took over",
            interval_s=1,
        )
        cluster.engine.run("rm", killed)
        cluster.compose("up", "--detach", "--no-recreate", "consumer")
        cluster.compose("restart", "server")
        cluster.wait_until_healthy("server")
        codes = [
            cluster.replace_one(each, service)
            for service in ("coordinator", "consumer")
            for each in cluster.containers(service)
        ]
        wait_until(lambda: _owners(cluster) == 4, 120, "every partition has an owner", interval_s=1)
    assert set(codes) == {0}, f"exit codes of containers that were replaced: {codes}"
    wait_until(lambda: _waiting(cluster) == 0, 240, "all jobs have ended", interval_s=1)
    wrote, different = cluster.rows()
    expected = before + jobs.enqueued * _ROWS
    assert wrote == different == expected, (
        f"{wrote:,} jobs wrote {different:,} of {expected:,} rows"
    )
    code, text = cluster.queuepool("audit")
    assert code == 0, text
    return (
        f"{expected - before:,} jobs in {jobs.enqueued} groups ({jobs.repeated} sent again), "
        f"{len(codes)} containers replaced: 0 lost, audit clean"
    )


def _owner(cluster: Cluster, partition: int) -> str:
    """Return the host name of a partition's owner, which is the start of its container's id."""
    for each in cluster.status():
        if each["partition"] == partition and each["owned"]:
            return str(each["owner"]).partition(":")[0]
    return ""


def _container_that_owns(cluster: Cluster, partition: int) -> str:
    owner = _owner(cluster, partition)
    assert owner
    [found] = [each for each in cluster.containers("consumer") if each.startswith(owner)]
    return found


def _owners(cluster: Cluster) -> int:
    return sum(each["owned"] for each in cluster.status())


def _waiting(cluster: Cluster) -> int:
    found = cluster.status()
    assert found, "status shows no partitions"
    return sum(each["backlog"] + each["in_flight"] + each["delayed"] for each in found)
