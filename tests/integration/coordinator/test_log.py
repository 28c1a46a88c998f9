"""The log as coordinators keep it: acts of operators, leaders, findings, owners, scaling."""

from __future__ import annotations

from collections.abc import Callable

import grpc
import pytest

from queuepool.client.pool import QueuePool
from queuepool.models.log import LogEntry, LogKind
from queuepool.rpc.acting import acting
from queuepool.rpc.client import QueuePoolClient
from queuepool.rpc.log import entry_of, numbers_of
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.verbs.owner import verbs as own
from tests.integration.coordinator.cluster import FakeOwner, Process
from tests.integration.coordinator.conftest import StartCommand
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("coordinator-process")


def found(
    pool: QueuePool, kind: LogKind, what: str = "", when: Callable[[LogEntry], object] | None = None
) -> list[LogEntry]:
    entries = pool.log(kinds=[kind])
    return [one for one in entries if one.what.startswith(what) and (when is None or when(one))]


def test_calls_of_operators_are_kept_with_who_and_why(
    pool: QueuePool, client: QueuePoolClient
) -> None:
    with acting("ada@desk", "page", "a\nfire") as act:
        client.Hold(api.HoldRequest(all=True, reason="a fire (by ada on the page)"))
        assert act.logged
    client.SetWorkers(api.SetWorkersRequest(partition=1, workers=5, ttl_s=60, reason="more\n"))
    with pytest.raises(grpc.RpcError), acting("ada@desk", "page") as failed:
        client.RemoveLimit(api.RemoveLimitRequest(limit="nobodys"))
    assert failed.logged

    wait_until(lambda: len(found(pool, LogKind.ACT)) == 3)

    held, scaled, removed = found(pool, LogKind.ACT)
    assert (held.what, held.subject, held.who) == ("hold", "everything", "ada@desk")
    assert (held.why, held.outcome) == ("a fire", "2 changed")
    assert held.via.startswith("page, ipv4:127.0.0.1:")
    assert (scaled.what, scaled.subject) == ("scale", "partition 1: workers=5 ttl_s=60")
    assert (scaled.via, scaled.outcome, scaled.why) == ("gRPC", "done", "more")
    assert scaled.who.startswith("ipv4:127.0.0.1:")
    assert (removed.subject, removed.outcome) == ("limit nobodys", "failed: NOT_FOUND")

    def ask(**wanted: object) -> list[LogEntry | None]:
        request = api.LogRequest(**wanted)  # type: ignore[arg-type]
        return [entry_of(message) for message in client.Log(request).entries]

    acts = ask(kinds=numbers_of([LogKind.ACT]))
    assert acts == pool.log(kinds=["act"])
    assert ask(kinds=numbers_of([LogKind.ACT]), page_size=2) == acts[1:]
    assert ask(until_ms=1) == []
    assert ask(kinds=[99]) == []


def test_an_act_of_a_command_is_kept_once(command: StartCommand, pool: QueuePool) -> None:
    command("limit")("set", "mail", "--rate", "3", "--reason", "their bill")

    wait_until(lambda: found(pool, LogKind.ACT))

    (entry,) = found(pool, LogKind.ACT)
    assert (entry.what, entry.why) == ("limit set", "their bill")
    assert entry.subject.startswith("limit mail")
    assert "@" in entry.who
    assert entry.via.startswith("command")
    assert "limit set limit mail" in command("log")()
    (same,) = command("log")("--json", "--kind", "act")
    assert (same["id"], same["who"]) == (entry.id, entry.who)


def test_what_happens_is_kept(pool: QueuePool, running: Process) -> None:
    wait_until(lambda: found(pool, LogKind.LEADER, "leads"), 20)
    owner = FakeOwner(pool.partition(0), workers=1)
    wait_until(lambda: found(pool, LogKind.OWNER, "came"), 20)
    wait_until(lambda: found(pool, LogKind.FINDING, "found"), 20)
    rows = ({"n": n} for n in range(4000))
    pool.enqueue_many("work", rows, partition_key=lambda row: f"key-{row['n'] % 40}")

    def scaled() -> object:
        owner.obey()
        return found(pool, LogKind.SCALING, "scale")

    wait_until(scaled, 20)
    owner.owned.run(own.release(owner.owned.ownership, drain_lease_ms=0))
    wait_until(lambda: found(pool, LogKind.OWNER, "left"), 20)
    running.stop()

    (came,) = found(pool, LogKind.OWNER, "came")
    assert (came.subject, came.who) == ("partition 0", "fake:1")
    assert any("persistence: " in one.outcome for one in found(pool, LogKind.FINDING, "found"))
    first = found(pool, LogKind.SCALING, "scale")[0]
    assert first.subject == "partition 0"
    assert " -> " in first.outcome
    assert first.why
    (left,) = found(pool, LogKind.LEADER, "leads no more")
    assert left.why == "this process is stopping"
