"""Askers of a limit at its home, with times that `World.advance` moves."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from queuepool.verbs.limits import verbs as limit
from queuepool.verbs.limits.verbs import Granted
from queuepool.verbs.owner.replies import Ownership

if TYPE_CHECKING:
    from tests.contract.world import World

S = 1_000_000  # us
VOID_US = 2 * S  # after which a token may not be used


def rate(tokens: int, per_s: float = 1.0, burst: int = 1, permits: int = 0) -> str:
    """Return the text of a definition by rate."""
    return f"{tokens}:{round(per_s * S)}:{burst}:{permits}:0:0"


def permits(count: int) -> str:
    """Return the text of a definition by concurrency."""
    return f"0:0:1:{count}:0:0"


@dataclass
class Home:
    """The home of a limit. Times of replies are those of a clock that `advance` moves."""

    world: World
    name: str = "mail"
    definition: str = ""
    shift_us: int = 0
    serials: dict[Ownership, int] = field(default_factory=dict)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.world.advance(seconds)
        if not self.world.in_memory:
            self.shift_us += round(seconds * 1000) * 1000

    def ask(
        self,
        owner: Ownership,
        tokens: int = 0,
        *,
        held: int = 0,
        wanted: int = 0,
        serial: int | None = None,
    ) -> Granted:
        """Ask, with the next serial."""
        if serial is None:
            serial = self.serials[owner] = self.serials.get(owner, 0) + 1
        verb = limit.ask(
            owner,
            self.name,
            tokens=tokens,
            held=held,
            wanted=wanted,
            definition=self.definition,
            serial=serial,
        )
        told = self.world.partition.run(verb)
        return replace(
            told,
            now_us=told.now_us + self.shift_us,
            first_us=told.first_us + self.shift_us,
            again_us=told.again_us and told.again_us + self.shift_us,
        )

    def slow(self, wait_ms: int) -> int:
        """Tell the home of a 429; return the us until which all wait."""
        verb = limit.slow(self.name, wait_ms, self.definition)
        return self.world.partition.run(verb) + self.shift_us


def owner(partition: int, epoch: int = 1) -> Ownership:
    """Return an ownership."""
    return Ownership(partition, "nonce", epoch)


def times(told: Granted) -> list[float]:
    """Return when each token may be used first."""
    nominal = (told.first_us + i * told.apart_us for i in range(told.tokens))
    return [max(told.now_us, at) for at in nominal]


def most_in_windows(starts: Iterable[float], window_us: float) -> int:
    """Return the most that happens within any window of this length, both ends included."""
    ordered: Sequence[float] = sorted(starts)
    return max(
        (bisect_right(ordered, at + window_us) - i for i, at in enumerate(ordered)), default=0
    )


def age_limit(client: Any, key: bytes, kind: bytes, ms: int) -> None:
    """Put every time of a limit's record back."""
    for name, value in client.hgetall(key).items():
        if kind == b"lc":
            held, due, keeps, serial = map(int, value.split(b":"))
            due -= ms if due else 0
            client.hset(key, name, f"{held}:{due}:{max(0, keeps - ms)}:{serial}")
        elif name in (b"tat", b"until", b"told", b"cut", b"seen"):
            client.hset(key, name, max(0, int(value) - ms * 1000))
        elif name in (b"summed", b"since", b"at", b"paused"):
            client.hset(key, name, max(1, int(value) - ms))
