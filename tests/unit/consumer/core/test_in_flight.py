"""What the holdings promise to threads that look while the loop writes."""

from consumer.core.in_flight import InFlight
from consumer.core.jobs import ClaimedJob


class Watched(ClaimedJob, kw_only=True):
    """A job that notes the moment in which it is asked to stop."""

    log: list[bytes]

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "cancelled" and value:
            self.log.append(self.id)


def test_jobs_that_no_worker_has_begun_are_cancelled_first() -> None:
    reported: list[bytes] = []
    in_flight = InFlight()
    for name, started_s in ((b"a", 3.0), (b"b", 0.0), (b"c", 2.0), (b"d", 0.0)):
        job = Watched(name, b"", 1, 0, b"", 0, 0.0, started_s=started_s, log=reported)
        in_flight.claimed[name] = job

    in_flight.cancel(frozenset((b"a", b"b", b"gone", b"c", b"d")))

    assert (set(reported[:2]), set(reported[2:])) == ({b"b", b"d"}, {b"a", b"c"})
