"""How long a chunk is tried, on a clock of the test's own."""

from __future__ import annotations

import pytest

from queuepool import EnqueueStatus, PoolConfig, QueueFullError, UnavailableError
from queuepool.client.chunks import Chunk
from queuepool.client.delivery import Answer, Delivery
from queuepool.client.results import EnqueueResults
from queuepool.errors import ScriptError
from queuepool.routing.topology import single
from queuepool.verbs.producer.verbs import Full

AWAY = UnavailableError("away")
FULL = Full(depth=9, size_bytes=99)


class Trial:
    """One chunk of two jobs, sent at second 0."""

    def __init__(self, *, retry_for_s: float = 10.0, wait_when_full_s: float = 0.0) -> None:
        self.chunk = Chunk(3, b"key")
        for n, job_id in enumerate((b"a", b"b")):
            self.chunk.add((2, b"g", 0), job_id, b"tail")
            self.chunk.positions.append(n)
        self.results = EnqueueResults()
        self._delivery = Delivery(
            self.chunk,
            self.results,
            PoolConfig(topology=single("redis://h", 4), retry_for_s=retry_for_s),
            now_s=0.0,
            wait_when_full_s=wait_when_full_s,
        )

    def hear(self, answer: Answer, now_s: float) -> float | None:
        """Return the pause after an answer."""
        return self._delivery.pause_after(answer, now_s, 0.5)

    def statuses(self) -> list[str]:
        return [r.status.value for r in self.results]


def test_an_answer_settles_each_job() -> None:
    trial = Trial()

    assert trial.hear(b"10", 0.0) is None
    assert trial.statuses() == ["accepted", "duplicate"]
    assert {r.partition for r in trial.results} == {3}


def test_a_server_that_is_away_is_asked_again_for_so_long() -> None:
    trial = Trial(retry_for_s=10.0)

    assert trial.hear(AWAY, 1.0)
    assert trial.hear(AWAY, 9.0)
    with pytest.raises(UnavailableError) as caught:
        trial.hear(AWAY, 10.0)

    assert caught.value.results is trial.results
    assert trial.statuses() == ["rejected", "rejected"]


def test_a_full_partition_is_asked_again_for_as_long_as_the_caller_waits() -> None:
    trial = Trial(wait_when_full_s=100.0)

    assert trial.hear(FULL, 99.0)
    with pytest.raises(QueueFullError) as caught:
        trial.hear(FULL, 100.0)

    error = caught.value
    assert (error.partition, error.depth, error.size_bytes, error.rejected) == (3, 9, 99, 2)
    assert error.results is trial.results


def test_an_outage_late_in_a_wait_has_all_its_retries() -> None:
    trial = Trial(retry_for_s=10.0, wait_when_full_s=100.0)

    assert trial.hear(FULL, 50.0)
    assert trial.hear(AWAY, 55.0)
    with pytest.raises(UnavailableError):
        trial.hear(AWAY, 60.0)


def test_a_chunk_that_may_be_in_is_not_sent_after_its_ids_are_forgotten() -> None:
    # It could have run and been forgotten by then; a late repeat would run it again.
    trial = Trial(retry_for_s=10.0, wait_when_full_s=1000.0)
    trial.chunk.mark_unanswered(1.0)

    assert trial.hear(FULL, 50.0)
    with pytest.raises(QueueFullError):
        trial.hear(FULL, 57.0)

    assert trial.statuses() == ["unknown", "unknown"]


def test_the_first_doubt_counts() -> None:
    trial = Trial(wait_when_full_s=1000.0)
    trial.chunk.mark_unanswered(1.0)
    trial.chunk.mark_unanswered(50.0)

    with pytest.raises(QueueFullError):
        trial.hear(FULL, 57.0)


def test_a_refusal_for_good_is_not_repeated() -> None:
    trial = Trial(retry_for_s=10.0, wait_when_full_s=100.0)

    with pytest.raises(ScriptError):
        trial.hear(ScriptError("no permissions"), 0.0)

    assert [r.status for r in trial.results] == [EnqueueStatus.REJECTED] * 2
