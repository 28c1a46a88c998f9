"""What the holdings promise to threads that look while the loop writes."""

from consumer.holdings import Holdings
from consumer.jobs import Claimed


class Watched(Claimed):
    """A job that notes the moment in which it is told to stop."""

    __slots__ = ("_told", "log")

    def __init__(self, name: bytes, log: list[bytes], started_s: float) -> None:
        self.log, self._told = log, False
        super().__init__(name, b"", 1, 0, 0, 0.0)
        self.started_s = started_s

    @property
    def cancelled(self) -> bool:
        return self._told

    @cancelled.setter
    def cancelled(self, told: bool) -> None:
        self._told = told
        if told:
            self.log.append(self.id)


def test_jobs_that_no_worker_has_begun_are_cancelled_first() -> None:
    told: list[bytes] = []
    holdings = Holdings()
    for name, started_s in ((b"a", 3.0), (b"b", 0.0), (b"c", 2.0), (b"d", 0.0)):
        holdings.claimed[name] = Watched(name, told, started_s)

    holdings.cancel(frozenset((b"a", b"b", b"gone", b"c", b"d")))

    assert (set(told[:2]), set(told[2:])) == ({b"b", b"d"}, {b"a", b"c"})
