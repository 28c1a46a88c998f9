"""Servers that answer from memory, or not at all."""

from collections.abc import Callable, Sequence
from typing import Any

from queuepool.errors import UnavailableError
from queuepool.verbs import Verb

Answer = Callable[[bytes, Verb[Any]], Any]


def observation(
    now_ms: int | float, *, jobs: int = 0, oldest_ms: int = 0, **counters: int
) -> list[Any]:
    """Return what `observe` replies about a partition without an owner, one lane in tier 2."""
    flat = [word for name, n in counters.items() for word in (name.encode(), b"%d" % n)]
    lanes, owner, nothing = [0, 0, min(jobs, 1), 0], [None] * 14, list[Any]()
    counted = [jobs, 0, 0, 0, lanes, oldest_ms, 0, 0]
    return [now_ms, flat, owner, *counted, nothing, b"0-0", 0, nothing, 0, 0, nothing]


class FakeServer:
    """A Port whose replies a test decides; `away` makes every call fail."""

    name = "fake"

    def __init__(self, answer: Answer) -> None:
        self.answer, self.away = answer, False
        self.asked: list[tuple[bytes, Verb[Any]]] = []

    def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
        return self.run_many([(key, verb) for verb in verbs])

    def run_many(self, calls: Sequence[tuple[bytes, Verb[Any]]]) -> list[Any]:
        if self.away:
            raise UnavailableError("fake: no answer")
        self.asked += calls
        return [self.answer(*call) for call in calls]

    def stream(self, key: bytes, window: int) -> Any:
        raise NotImplementedError

    def doorbell(self, key: bytes) -> Any:
        raise NotImplementedError

    def info(self) -> dict[str, Any]:
        return {}

    def memory(self, key: bytes) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        """Nothing is open."""


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s
