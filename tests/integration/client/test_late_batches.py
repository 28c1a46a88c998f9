"""Batches that are over, by their deadline, before all their jobs are enqueued."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

from queuepool import After, BatchState, InvalidInputError, UnavailableError
from queuepool.client.flows.listing import listed
from queuepool.models.flows import OnFailure
from queuepool.testing import MemoryPool, run_jobs
from queuepool.verbs import Verb
from tests.integration.client.test_batches import Album

DEADLINE_S = 600


def _rows(first: int, then: Callable[[], object], last: int = 0) -> Iterator[dict[str, Any]]:
    """Yield so many jobs, do something, and yield the last ones."""
    yield from ({"photo": n} for n in range(first))
    then()
    yield from ({"photo": n} for n in range(first, first + last))


def _late(album: Album) -> None:
    """Let jobs run, the deadline pass, and the continuation run."""
    run_jobs(album.pool)
    album.clock.advance(DEADLINE_S + 1)
    run_jobs(album.pool)


def _then(on_failure: OnFailure = "partial", **options: Any) -> After:
    return After("publish", {"album": 7}, on_failure=on_failure, deadline_s=DEADLINE_S, **options)


def enqueue(album: Album, rows: Iterable[dict[str, Any]], then: After, *, of_asyncio: bool) -> None:
    """Enqueue photos by one of both pools."""
    if of_asyncio:
        pool = album.pool.asyncio()
        asyncio.run(pool.enqueue_many("resize", rows, partition_key="a", then=then))
    else:
        album.pool.enqueue_many("resize", rows, partition_key="a", then=then)


def _source_is_away() -> None:
    raise OSError("the source of the jobs is away")


def test_the_continuation_of_a_call_that_broke_off_has_the_results_so_far() -> None:
    album = Album()
    rows = _rows(450, _source_is_away)
    with pytest.raises(OSError, match="the source"):
        album.pool.enqueue_many("resize", rows, partition_key="a", then=_then())

    _late(album)

    assert album.published == [(7, [f"small-{n}" for n in range(450)])]


@pytest.mark.parametrize(
    ("on_failure", "state", "published"),
    [
        ("partial", "fired", [(7, [f"small-{n}" for n in range(400)])]),
        ("fail", "failed", []),
    ],
)
@pytest.mark.parametrize("of_asyncio", [False, True])
def test_a_call_is_told_that_the_deadline_passed_while_it_added_jobs(
    on_failure: OnFailure, state: str, published: list[Any], of_asyncio: bool
) -> None:
    album = Album()
    rows, then = _rows(400, lambda: _late(album), 500), _then(on_failure, batch_id="monday")
    said = f"is {state}: it concluded while .* 900 were enqueued, .* and another batch_id"

    with pytest.raises(InvalidInputError, match=said) as raised:
        enqueue(album, rows, then, of_asyncio=of_asyncio)

    assert raised.value.results.accepted == 900  # type: ignore[attr-defined]
    assert album.published == published
    assert run_jobs(album.pool).done == 500


def test_a_seal_whose_answer_was_lost_is_no_late_one() -> None:
    album = Album()
    album.pool = MemoryPool(1, registry=album.registry, clock=album.clock, retry_for_s=5.0)
    plain = album.pool.server.run

    def lost(key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
        replies = plain(key, verbs)
        if verbs[0].script == "seal_batch":
            album.pool.server.run = plain  # type: ignore[method-assign]
            run_jobs(album.pool)
            raise UnavailableError("no reply")
        return replies

    album.pool.server.run = lost  # type: ignore[method-assign]
    results = album.enqueue(3)

    assert results.batch.status().state is BatchState.FIRED
    assert album.published == [(7, ["small-0", "small-1", "small-2"])]


def _slow(album: Album, pause_s: float, after: Callable[[], object] = lambda: None) -> None:
    """Let the producer pause before it stores a continuation, and do something once it has."""
    plain = album.pool.server.run

    def paused(key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
        if verbs[0].script != "enqueue":
            return plain(key, verbs)
        album.pool.server.run = plain  # type: ignore[method-assign]
        album.clock.advance(pause_s)
        run_jobs(album.pool)
        replies = plain(key, verbs)
        after()
        return replies

    album.pool.server.run = paused  # type: ignore[method-assign]


def _dies() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("on_failure", "state", "published"), [("fail", "dead", []), ("partial", "done", [(7, [])])]
)
@pytest.mark.parametrize("pause_s", [DEADLINE_S + 1, DEADLINE_S + 2000])
def test_a_continuation_that_is_stored_after_its_deadline_is_concluded_soon(
    on_failure: OnFailure, state: str, published: list[Any], pause_s: float
) -> None:
    album = Album()
    _slow(album, pause_s, _dies)
    with pytest.raises(KeyboardInterrupt):
        album.enqueue(3, on_failure=on_failure, deadline_s=DEADLINE_S)

    album.clock.advance(600)
    run_jobs(album.pool)

    [(line, *_), _complete] = album.pool.carry_out(listed(album.pool.config, 5))
    assert album.pool.status(line.name).state == state
    assert album.published == published


@pytest.mark.parametrize("on_failure", ["fail", "partial"])
def test_a_producer_that_pauses_beyond_its_deadline_is_told_before_it_adds_jobs(
    monkeypatch: pytest.MonkeyPatch, on_failure: OnFailure
) -> None:
    album = Album()

    def concluded() -> None:
        album.clock.advance(10)
        run_jobs(album.pool)

    _slow(album, DEADLINE_S + 1, concluded)
    monkeypatch.setattr("queuepool.client.batching.monotonic", album.clock)
    with pytest.raises(InvalidInputError, match="its deadline passed while it was being defined"):
        album.enqueue(3, on_failure=on_failure, deadline_s=DEADLINE_S)

    assert sum(p.observe().jobs for p in album.pool.partitions()) == (on_failure == "fail")


def test_a_producer_that_pauses_until_its_batch_is_forgotten_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    album = Album()
    _slow(album, DEADLINE_S + 100_000)
    monkeypatch.setattr("queuepool.client.batching.monotonic", album.clock)
    with pytest.raises(InvalidInputError, match="is unknown: its deadline passed"):
        album.enqueue(3, deadline_s=DEADLINE_S)

    album.clock.advance(100_000)
    run_jobs(album.pool)
    assert album.published == []
    assert sum(p.observe().jobs for p in album.pool.partitions()) == 0
