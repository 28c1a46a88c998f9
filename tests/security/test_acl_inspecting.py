"""What a coordinator does for operators on a server with users: look, schedules, and cancel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from queuepool import After, QueuePool, Schedule
from queuepool.errors import ScriptError
from queuepool.models import JobState
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig
from queuepool.verbs.acl import CANCELLING, CHANGING, ROLES, ServerRole
from tests.integration.cli.jobs import bury
from tests.security.roles import GuardedServer, guarded_server
from tests.security.test_rights import granted, written


@contextmanager
def pool_of(guarded: GuardedServer, role: str) -> Iterator[QueuePool]:
    topology = build({"main": guarded.url(role)}, 2, "")
    with QueuePool(config=PoolConfig(topology=topology, keyspace=guarded.space)) as pool:
        yield pool


def fill(pool: QueuePool) -> Any:
    """Enqueue a batch of jobs in each state that a producer can give them; return it."""
    rows: list[dict[str, int]] = [{}, {}]
    results = pool.enqueue_many("t", rows, partition_key="k", then=After("publish"))
    pool.enqueue("t", {}, partition_key="d", delay_s=600)
    return results.batch


def test_a_coordinator_may_look_and_run_a_schedule(guarded: GuardedServer) -> None:
    with pool_of(guarded, "producer") as producer:
        batch = fill(producer)
    with pool_of(guarded, "coordinator") as pool:
        assert len(list(pool.inspect.find())) == 4  # with the continuation
        assert [one.left for one in pool.inspect.groups(limit=1)] == [3]
        assert (pool.inspect.errors(), pool.inspect.history("none")) == ([], [])
        assert pool.batch(batch.name).status().total == 2
        pool.schedules.set(Schedule("nightly", "t", every="1d", partition_key="n"))
        assert pool.schedules.run("nightly").status == "accepted"

    assert guarded.denied() == []


def test_a_coordinator_may_not_cancel_unless_the_server_says_so(guarded: GuardedServer) -> None:
    with pool_of(guarded, "producer") as producer:
        batch = fill(producer)

    with (
        pool_of(guarded, "coordinator") as pool,
        pytest.raises(ScriptError, match="queuepool acl"),
    ):
        pool.batch(batch.name).cancel()

    with pool_of(guarded, "ops-read") as pool:
        assert pool.batch(batch.name).status().state == "open"


def test_a_coordinator_that_may_cancels(engine_binary: Path, stage: str, tmp_path: Path) -> None:
    with guarded_server(engine_binary, stage, tmp_path, cancels=True) as guarded:
        with pool_of(guarded, "producer") as producer:
            batch = fill(producer)
        with pool_of(guarded, "coordinator") as pool:
            assert pool.batch(batch.name).cancel() == 2
            assert pool.batch(batch.name).status().state == "cancelled"
            assert pool.group("k").status().left == 0
        assert guarded.denied() == []


def test_a_coordinator_that_may_changes_jobs(
    engine_binary: Path, stage: str, tmp_path: Path
) -> None:
    with guarded_server(engine_binary, stage, tmp_path, changes=True) as guarded:
        with pool_of(guarded, "producer") as producer:
            fill(producer)
        with pool_of(guarded, "ops") as ops:
            dead = bury(ops, "k", 3, "broken")
        with pool_of(guarded, "coordinator") as pool:
            [delayed] = pool.inspect.find("delayed", task="t")
            assert pool.inspect.edit(delayed.job_id, {"a": 1}) is JobState.DELAYED
            assert pool.inspect.run(delayed.job_id) is JobState.DELAYED
            assert pool.inspect.edit(dead[0], {"a": 1}) is JobState.DEAD
            assert pool.inspect.run(dead[0]) is JobState.DEAD
            assert pool.inspect.replay(most=1).changed == 1
            assert pool.inspect.discard().changed == 1
        assert guarded.denied() == []


@pytest.mark.parametrize(
    ("role", "scripts"),
    [
        (CANCELLING, {"cancel", "cancel_batch", "cancel_children"}),
        (
            CHANGING,
            {"cancel", "cancel_batch", "cancel_children"}
            | {"replay", "discard", "edit", "hasten", "status"},
        ),
    ],
)
def test_one_that_may_writes_what_that_takes_and_no_more(
    role: ServerRole, scripts: set[str]
) -> None:
    taken = set().union(*map(written, scripts))
    needed = {
        (stem, command) for stem, command in taken if command != "unlink" or stem in ("dn", "dg")
    }

    assert set(role.scripts) == scripts | set(ROLES["coordinator"].scripts)
    assert granted(role) == granted(ROLES["coordinator"]) | needed
