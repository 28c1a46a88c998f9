"""A continuation is stored as its jobs are: as patiently, and as durably."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from queuepool import After, InvalidInputError, UnavailableError
from queuepool.client.flows.listing import listed
from queuepool.testing import MemoryPool, run_jobs
from queuepool.verbs import Verb
from queuepool.verbs.producer import verbs as produce
from tests.integration.client.test_batches import Album
from tests.integration.client.test_late_batches import enqueue


def test_the_continuation_waits_for_room_as_its_jobs_do() -> None:
    album = Album()
    pool = MemoryPool(1, registry=album.registry, clock=album.clock, max_depth=2)
    first, second = pool.enqueue_many("resize", [{"photo": 1}] * 2, partition_key="a")
    plain, sent = pool.server.run, list[list[Any]]()

    def makes_room(key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
        replies = plain(key, verbs)
        sent.append([verb.script or verb.args[0] for verb in verbs])
        if len(sent) == 5:
            for job in (first, second):
                plain(key, [produce.cancel(job.job_id, produce.ANY_VERSION)])
        return replies

    pool.server.run = makes_room  # type: ignore[method-assign]
    then = After("publish", {"album": 7})
    rows = [{"photo": 2}]
    pool.enqueue_many("resize", rows, partition_key="a", then=then, wait_when_full_s=60)

    assert sent.count(["enqueue"]) > 3
    assert run_jobs(pool).done == 2


@pytest.mark.parametrize(
    ("batch_id", "remedy"), [(None, r"\.cancel\(\)"), ("monday", "batch_id='monday'")]
)
def test_a_call_that_ends_early_tells_which_batch_it_leaves_behind(
    batch_id: str | None, remedy: str
) -> None:
    album = Album()
    then = After("publish", {"album": 7}, batch_id=batch_id)
    rows = [*({"photo": n} for n in range(250)), {"no": 1}]  # the first ones are stored by then

    with pytest.raises(InvalidInputError) as raised:
        album.pool.enqueue_many("resize", rows, partition_key="a", then=then)

    [left] = [line.name for line in album.pool.carry_out(listed(album.pool.config, 5))[0]]
    told = " ".join(getattr(raised.value, "__notes__", ()))
    assert re.search(f"batch {re.escape(left)} has not all its jobs.*{remedy}", told)


@pytest.mark.parametrize("error", [KeyboardInterrupt, UnavailableError])
@pytest.mark.parametrize("of_asyncio", [False, True])
@pytest.mark.parametrize(
    ("part", "is_done"),
    [
        ("open_batch", True),
        ("enqueue", False),
        ("enqueue", True),
        ("seal_batch", False),
        ("seal_batch", True),
    ],
)
def test_a_call_that_is_interrupted_around_its_jobs_tells_which_batch_it_leaves_behind(
    part: str, is_done: bool, of_asyncio: bool, error: type[BaseException]
) -> None:
    album = Album()
    plain = album.pool.server.run

    def interrupted(key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
        if verbs[0].script != part:
            return plain(key, verbs)
        if is_done:
            plain(key, verbs)
        album.pool.server.run = plain  # type: ignore[method-assign]
        raise error("interrupted")

    album.pool.server.run = interrupted  # type: ignore[method-assign]
    then, rows = After("publish", {"album": 7}), [{"photo": 1}]
    with pytest.raises(error) as raised:
        enqueue(album, rows, then, of_asyncio=of_asyncio)

    [left] = [line.name for line in album.pool.carry_out(listed(album.pool.config, 5))[0]]
    told = " ".join(getattr(raised.value, "__notes__", ()))
    assert told.count(f"batch {left} ") == 1
    assert f"pool.batch({left!r}).cancel()" in told


def test_a_batch_that_is_over_is_not_told_to_be_left_behind() -> None:
    album = Album()
    album.enqueue(1, batch_id="monday")
    run_jobs(album.pool)

    with pytest.raises(InvalidInputError, match="has concluded") as raised:
        album.enqueue(1, batch_id="monday")

    assert not hasattr(raised.value, "__notes__")


def test_the_continuation_is_confirmed_as_its_jobs_are() -> None:
    album = Album()
    plain, sent = album.pool.server.run, list[list[Any]]()

    def confirms(key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
        sent.append([verb.script or verb.args[0] for verb in verbs])
        known = [verb for verb in verbs if verb.script]
        return plain(key, known) + [1] * (len(verbs) - len(known))

    album.pool.server.run = confirms  # type: ignore[method-assign]
    then, rows = After("publish", {"album": 7}), [{"photo": 2}]
    album.pool.enqueue_many("resize", rows, partition_key="a", then=then, durability="replicated")

    assert [scripts for scripts in sent if "enqueue" in scripts] == [["enqueue", b"WAIT"]] * 2
