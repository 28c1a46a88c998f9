"""Each cell of the table of docs/security.md about the coordinator, tried on a real process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from coordinator.core.overlays.values import merged
from queuepool import Limit, QueuePool
from queuepool.client.batching import ask_home
from queuepool.client.scaling import ScalingRecords
from queuepool.models.flows import BatchState
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig
from queuepool.tasks.job import Job
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.integration.coordinator.cluster import FakeOwner, Process, look
from tests.security.stolen import callers
from tests.security.stolen.callers import WISHES, Wish
from tests.waiting import wait_until

STAGE = "stolen-tokens"


@pytest.fixture(scope="module")
def replies(redis_url: str) -> Iterator[Mapping[str, Mapping[str, str]]]:
    """Everything that each caller is answered, operators first: they leave something to see."""
    topology = build({"main": redis_url}, 2, "")
    process = Process(
        redis_url, STAGE, grpc_token=callers.OPERATOR, grpc_viewer_token=callers.VIEWER
    )
    try:
        with QueuePool(config=PoolConfig(topology=topology, keyspace=Keyspace(STAGE))) as pool:
            fill(pool)
            wait_until(lambda: look(pool).lease_ms > 0, 60.0, "somebody leads")
            found = {
                name: asked(process, pool, token)
                for name, token in reversed(callers.TOKENS.items())
            }
            wait_until(lambda: callers.SEEN in str(callers.over_http(process.metrics)))
            yield found | {callers.METRICS: callers.over_http(process.metrics)}
    finally:
        process.kill()


def fill(pool: QueuePool) -> None:
    """Give the partitions an owner, jobs, a dead one: something to see."""
    owner = FakeOwner(pool.partition(1)).owned
    pool.limits.set(Limit(callers.SEEN, rate=5))
    w.enqueue(w.World(pool.partition(1), None, None), [callers.JOB], payload=b'"secret-payload"')
    assert w.claim(owned=owner, limit=1).ids == [callers.JOB.encode()]
    error = b'{"reason":"failed","message":"%s"}' % callers.ERROR.encode()
    owner.run(own.bury(owner.ownership, [(callers.JOB.encode(), error)], **w.KEEP))
    options: dict[str, Any] = {"on_failure": "fail", "on_deadline": "fail"}
    batch = flow.open_batch(
        callers.BATCH, callers.BATCH, deadline_ms=10**7, keep_ms=10**7, **options
    )
    pool.carry_out(ask_home(pool.config, callers.BATCH, batch))
    pool.enqueue("t", {}, partition_key="later", job_id=callers.LATER, delay_s=3600)
    pool.enqueue_many(
        "work",
        [
            Job({"x": callers.PAYLOAD}, partition_key=callers.GROUP, job_id=f"{callers.JOB}-{n}")
            for n in range(2)
        ],
    )


def asked(process: Process, pool: QueuePool, token: str | None) -> dict[str, str]:
    """Return everything that the holder of a token is answered, and what it changed."""
    was_open = pool.batch(callers.BATCH).status().state is BatchState.OPEN
    due_ms = pool.status(callers.LATER).at_ms
    acts = callers.by_token(process.grpc, token, callers.ACTS)
    server, key = pool.system
    by_hand = look(pool).manual.get(1, (0, 0))[0]
    schedule, batch = pool.schedules.get(callers.SCHEDULE), pool.batch(callers.BATCH).status()
    group = pool.group(callers.GROUP)
    now, limit = group.status(), pool.limits.get(callers.LIMIT)
    records = ScalingRecords(server, key)
    budget = records.read().values.get("budget")
    records.change({"budget": ""}, merged, by="the test")
    acts |= callers.by_token(process.grpc, token, callers.AFTERWARDS)
    group.release()
    group.configure(max_running=0)
    looks = callers.by_token(process.grpc, token, callers.LOOKS)

    def complete() -> bool:
        looks.update(callers.by_token(process.grpc, token, callers.LOOKS))
        return all(text in str(looks) for text in (callers.HOST, callers.REASON, "backlog"))

    if token is not None:  # a cycle of a slow machine may see nothing of a partition
        wait_until(complete, 60.0, "the API shows what there is")
    server.run(key, [lead.clear_manual(1)])
    return (
        acts
        | looks
        | callers.health_and_methods(process.grpc, token)
        | {"manual": f"by hand: {by_hand}", "held": f"held: {now.held_ms is not None}"}
        | {"capped": f"capped: {now.max_running}"}
        | {"decided": f"decided: {budget}"}
        | {"scheduled": f"schedule paused: {schedule is not None and schedule.paused_ms > 0}"}
        | {"ran": f"job ran: {pool.status(callers.LATER).at_ms != due_ms}"}
        | {"cancelled": f"batch cancelled: {was_open and batch.state is BatchState.CANCELLED}"}
        | {"limited": f"limit paused: {limit is not None and limit.paused}"}
    )


@pytest.mark.parametrize("caller", callers.CALLERS)
@pytest.mark.parametrize("wish", WISHES, ids=lambda wish: wish.name)
def test_a_caller_gets_what_the_page_says_and_no_more(
    replies: Mapping[str, Mapping[str, str]], wish: Wish, caller: str
) -> None:
    assert wish.shown(replies[caller]) == (caller in wish.may), replies[caller]


def test_whoever_may_not_is_refused_by_name(replies: Mapping[str, Mapping[str, str]]) -> None:
    acts = {**callers.ACTS, **callers.AFTERWARDS}
    methods = {**callers.LOOKS, **acts}

    assert {replies["no token"][name] for name in methods} == {"UNAUTHENTICATED"}
    assert {replies["viewer"][name] for name in acts} == {"PERMISSION_DENIED"}
    assert not {"UNAUTHENTICATED", "PERMISSION_DENIED"} & {*replies["operator"].values()}
    metrics = replies[callers.METRICS]
    found = {call for call, reply in metrics.items() if reply.startswith("200")}
    assert found == {"GET /metrics", "GET /healthz"}
