"""What is cancelled while jobs are added to it: none runs, wherever the call was by then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from queuepool import (
    After,
    BatchState,
    Flow,
    InvalidInputError,
    Job,
    JobContext,
    UnavailableError,
)
from queuepool.testing import MemoryPool, run_jobs
from queuepool.verbs import Verb
from tests.integration.client.test_batches import Album
from tests.integration.client.test_flows import DIAMOND, Night

JOBS = 500  # three calls


class Calls:
    """The calls of a pool; right after one of them, something is done.

    opened: the first batch that was opened in them.
    """

    def __init__(self, pool: MemoryPool, at: int, act: Callable[[str], object]) -> None:
        self._pool, self._plain, self._at, self._act = pool, pool.server.run, at, act
        self.count, self.opened = 0, ""
        pool.server.run = self._run  # type: ignore[method-assign]

    def _run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
        replies = self._plain(key, verbs)
        for verb in verbs:
            if verb.script == "open_batch" and not self.opened:
                self.opened = str(verb.args[0])
        self.count += 1
        if self.count > self._at and self.opened:
            self.end()
            self._act(self.opened)
        return replies

    def end(self) -> None:
        """Let calls be as they were."""
        self._pool.server.run = self._plain  # type: ignore[method-assign]


@pytest.mark.parametrize("at", range(5))
def test_jobs_of_a_batch_that_is_cancelled_before_it_is_sealed(at: int) -> None:
    album = Album()
    calls = Calls(album.pool, at, lambda name: album.pool.batch(name).cancel())

    with pytest.raises(InvalidInputError, match="was cancelled while jobs were added to it"):
        album.enqueue(JOBS)

    assert calls.opened
    report = run_jobs(album.pool)
    assert (report.done, album.published) == (0, [])
    assert album.pool.batch(calls.opened).status().state is BatchState.CANCELLED


def test_jobs_that_a_job_adds_to_a_batch_that_is_cancelled_meanwhile() -> None:
    album, seen = Album(), list[str]()

    @album.registry.task(max_attempts=1)
    def grow(ctx: JobContext) -> None:
        rows = [{"photo": n} for n in range(3)]
        plain = album.pool.server.run

        def cancelled_first(key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
            if verbs[0].script == "enqueue":
                album.pool.server.run = plain  # type: ignore[method-assign]
                results.batch.cancel()
            return plain(key, verbs)

        album.pool.server.run = cancelled_first  # type: ignore[method-assign]
        try:
            album.pool.enqueue_many("resize", rows, partition_key="more", into=ctx.batch)
        except InvalidInputError as error:
            seen.append(str(error))

    then = After("publish", {"album": 7})
    results = album.pool.enqueue_many([Job({}, task="grow")], partition_key="a", then=then)
    report = run_jobs(album.pool)

    assert ["was cancelled while" in text for text in seen] == [True]
    assert (report.done, album.published) == (1, [])
    assert sum(p.observe().jobs for p in album.pool.partitions()) == 0


def _rows(taken: list[int], jobs: int) -> Iterator[dict[str, Any]]:
    for number in range(jobs):
        taken.append(number)
        yield {"photo": number}


@pytest.mark.parametrize(("at", "stored"), [(0, "200"), (3, "1,200"), (12, "2,200")])
def test_a_call_that_adds_jobs_stops_soon_after_its_batch_is_cancelled(
    at: int, stored: str
) -> None:
    album, taken = Album(), list[int]()
    Calls(album.pool, at, lambda name: album.pool.batch(name).cancel())

    then = After("publish", {"album": 7})
    with pytest.raises(InvalidInputError, match=f": {stored} were enqueued, .* no more were sent"):
        album.pool.enqueue_many("resize", _rows(taken, 9000), partition_key="a", then=then)

    assert len(taken) == int(stored.replace(",", ""))
    assert run_jobs(album.pool).done == 0


def test_a_flow_that_is_cancelled_meanwhile_sends_few_jobs_more() -> None:
    night, sent = Night(), list[str]()
    plain = night.pool.server.run

    def counted(key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
        sent.extend(verb.script for verb in verbs if verb.script == "enqueue")
        return plain(key, verbs)

    night.pool.server.run = counted  # type: ignore[method-assign]
    Calls(night.pool, 0, lambda name: night.pool.flow(name).cancel())
    rows = [{"name": str(number)} for number in range(9000)]
    flow = Flow("wide", partition_key="k").add("work", each=rows, name="first")
    night.pool.enqueue_flow(flow)

    assert len(sent) == 1
    assert night.run().done == 0


def test_a_batch_whose_home_does_not_answer_is_looked_at_once_while_jobs_are_added() -> None:
    album, looks = Album(), list[str]()
    plain = album.pool.server.run

    def away(key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
        if verbs[0].script == "batch":
            looks.append("batch")
            raise UnavailableError("no reply")
        return plain(key, verbs)

    album.pool.server.run = away  # type: ignore[method-assign]
    assert (album.enqueue(9000).accepted, len(looks)) == (9000, 1)

    album.pool.server.run = plain  # type: ignore[method-assign]
    assert run_jobs(album.pool).done == 9001


@pytest.mark.parametrize("at", range(9))
def test_steps_of_a_flow_that_is_cancelled_before_it_is_sealed(at: int) -> None:
    night = Night()
    calls = Calls(night.pool, at, lambda name: night.pool.flow(name).cancel())

    handle = night.pool.enqueue_flow(night.flow(**DIAMOND))

    assert calls.opened == handle.name
    assert (night.run().done, night.runs) == (0, [])
    assert {str(step.state) for step in handle.status().steps} == {"cancelled"}


def test_steps_of_a_flow_that_is_cancelled_before_a_call_that_breaks_off_is_repeated() -> None:
    """What that call added after the cancellation goes when it is repeated."""

    class BrokenOffError(Exception): ...

    night = Night()

    def break_off(_name: str) -> None:
        raise BrokenOffError

    def cancel_then_break_off(name: str) -> None:
        night.pool.flow(name).cancel()
        Calls(night.pool, 4, break_off).opened = name

    Calls(night.pool, 0, cancel_then_break_off)
    with pytest.raises(BrokenOffError):
        night.pool.enqueue_flow(night.flow(**DIAMOND))
    assert sum(p.observe().jobs for p in night.pool.partitions()) > 0

    handle = night.pool.enqueue_flow(night.flow(**DIAMOND))

    assert (night.run().done, night.runs) == (0, [])
    assert {str(step.state) for step in handle.status().steps} == {"cancelled"}
