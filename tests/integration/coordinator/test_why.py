"""`queuepool why` and `queuepool decisions`, by a real coordinator and on the servers alone."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from queuepool.cli.exits import Exit
from queuepool.client.pool import QueuePool
from queuepool.rpc.client import connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from tests.integration.coordinator.cluster import FakeOwner, Process, obey_until
from tests.integration.coordinator.conftest import StartProcess
from tests.shell import Shell
from tests.unit.coordinator.decisions.test_stored import OLD

pytestmark = pytest.mark.xdist_group("coordinator-process")


@pytest.fixture
def running(process: StartProcess, pool: QueuePool) -> Process:
    """A coordinator that took partition 0 to 20 workers."""
    held = FakeOwner(pool.partition(0))
    started = process(policy="static", workers=20)
    obey_until(held, lambda: held.workers == 20)
    return started


@pytest.fixture(params=["coordinator", "servers"])
def run(
    request: pytest.FixtureRequest, running: Process, redis_url: str, stage: str
) -> Callable[..., Any]:
    """Runs `queuepool`, by a coordinator alone or on the servers alone."""
    shell = Shell(request.getfixturevalue("capsys"))
    settings = {"QUEUEPOOL_URL": redis_url, "QUEUEPOOL_STAGE": stage, "QUEUEPOOL_PARTITIONS": "2"}
    if request.param == "coordinator":
        settings |= {"QUEUEPOOL_URL": "redis://127.0.0.1:1/0", "QUEUEPOOL_GRPC": running.grpc}

    def do(*words: str, code: int = Exit.OK) -> Any:
        found, out, err = shell.run_with(*words, **settings)
        assert found == code, out + err
        return shell.lines if "--json" in words and code == Exit.OK else out + err

    return do


def test_a_partition_is_explained_and_its_decisions_are_listed(run: Any) -> None:
    text = run("why", "0")
    assert text.startswith("partition 0, ")
    assert "to 20 workers (policy static, version 1): fixed at 20 workers" in text
    assert "Command " in text

    last = run("why", "0", "--json")[-1]
    assert (last["previous"], last["target"], last["alternative"]) == (8, 20, 8)
    assert last["sentences"][0].startswith("It went from 8 to 20")
    listed = run("decisions", "--partition", "0", "--json")
    assert {"id", "inputs", "outcome", "figures", "moved"} <= set(listed[0])
    assert [one["target"] for one in listed if one["previous"] != one["target"]] == [20]
    assert "partition 0: 8 -> 20  fixed at 20 workers" in run("decisions")


def test_after_a_passing_doubt_the_leader_explains_what_it_decides_now(
    process: StartProcess, pool: QueuePool
) -> None:
    held = FakeOwner(pool.partition(0))
    started = process(policy="static", workers=8)

    def explained(at_ms: int | None = None) -> list[str]:
        with connect(started.grpc, deadline_s=30) as client:
            answer = client.Explain(api.ExplainRequest(partition=0, at_ms=at_ms))
            return [" ".join(one.sentences) for one in answer.explanations]

    def recorded() -> list[str]:
        with connect(started.grpc, deadline_s=30) as client:
            return [
                one.reason for one in client.ListDecisions(api.ListDecisionsRequest()).decisions
            ]

    obey_until(held, lambda: any("fixed at 8" in reason for reason in recorded()))
    held.busy = 5_000
    obey_until(held, lambda: "5000 of its 8 workers are busy" in recorded()[0])
    held.busy = 3
    obey_until(held, lambda: "of which 3 busy" in explained()[0])

    assert "5000" not in explained()[0]
    assert "5000" in explained(round(time.time() * 1000))[0]


def test_a_stored_decision_comes_with_what_is_seen_now(
    running: Process, redis_url: str, stage: str, capsys: Any
) -> None:
    running.stop()
    settings = {"QUEUEPOOL_URL": redis_url, "QUEUEPOOL_STAGE": stage, "QUEUEPOOL_PARTITIONS": "2"}

    code, out, err = Shell(capsys).run_with("why", "0", **settings)

    assert code == Exit.OK, err
    assert "Seen now: 0 jobs ready, 0 in flight, 20 workers of which 0 busy." in out


def test_a_time_before_all_decisions_has_none(run: Any) -> None:
    said = run("why", "0", "--at", "5h", code=Exit.FAILED)

    assert "no decision about partition 0 is recorded before that time" in said


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("why", "7"), Exit.USAGE, "partition 7"),
        (("why", "99999999"), Exit.USAGE, "partition 99999999"),
        (("decisions", "--partition", "7"), Exit.USAGE, "partition 7"),
    ],
)
def test_a_partition_that_is_not_there_is_told(
    run: Any, words: tuple[str, ...], code: Exit, said: str
) -> None:
    assert said in run(*words, code=code)


def test_by_any_time_there_is_an_answer_or_none(running: Process) -> None:
    with connect(running.grpc, deadline_s=30) as client:
        now_ms = round(time.time() * 1000)
        for at_ms in (now_ms, now_ms + 10**9, 2**62, 2**63 - 1):
            answer = client.Explain(api.ExplainRequest(partition=0, at_ms=at_ms))
            assert answer.explanations[0].sentences
        for at_ms in (0, 1, -1, -(2**63), now_ms - 10**9):
            with pytest.raises(grpc.RpcError) as refused:
                client.Explain(api.ExplainRequest(partition=0, at_ms=at_ms))
            assert refused.value.code() is grpc.StatusCode.NOT_FOUND


def test_what_an_earlier_release_stored_is_listed_and_explained(
    running: Process, pool: QueuePool, redis_url: str
) -> None:
    import redis

    key = pool.config.keyspace.system() + b":decisions"
    with redis.Redis.from_url(redis_url) as server:
        server.xadd(key, {"d": json.dumps(OLD)})
        server.xadd(key, {"d": b"\xff"})

    with connect(running.grpc, deadline_s=30) as client:
        every = client.ListDecisions(api.ListDecisionsRequest()).decisions
        [one] = client.Explain(api.ExplainRequest(partition=1, at_ms=OLD["at_ms"])).explanations  # type: ignore[arg-type]

    assert every[-1].reason == OLD["reason"]
    assert one.sentences[0].startswith("It went from 16 to 32 workers (policy pwqd, version 1)")
