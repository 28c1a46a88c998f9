"""The batches of all partitions, those that are looked at next first. As steps for both pools.

each place (partition and pool): a page of its batches, in their order
all pages: the first of what is known, until one is used up, which is followed by its next one
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from queuepool.client.effects import Follow, Steps
from queuepool.client.questions import ask_each, numbered, places_of
from queuepool.models.flows import BatchLine
from queuepool.settings.config import PoolConfig
from queuepool.verbs.flows import verbs as flow

_PAGE = 200
_OF_FLOWS = ("s", "g")  # parts of flows, which are shown with these


@dataclass
class _Source:
    """A place, and what was read of it. there: how many batches it has."""

    number: int
    pool: str
    there: int = 1
    offset: int = 0
    waiting: deque[BatchLine] = field(default_factory=deque)

    @property
    def is_short(self) -> bool:
        """Return whether the next batch is still to be read."""
        return not self.waiting and self.offset < self.there

    def take(self, there: int, lines: Sequence[BatchLine]) -> int:
        """Note a page; return how many parts of flows it had."""
        shown = [line for line in lines if line.part not in _OF_FLOWS]
        self.waiting.extend(shown)
        self.offset += len(lines)
        self.there = there if lines else self.offset
        return len(lines) - len(shown)


def listed(config: PoolConfig, most: int) -> Steps[tuple[list[BatchLine], int]]:
    """Return the first batches, without the parts of flows, and how many more there are at most."""
    yield Follow()
    sources = [_Source(*place) for place in (yield from places_of(config, None))]
    found: dict[str, BatchLine] = {}  # one that moves may be in two places
    parts = repeated = 0
    while len(found) < most:
        short = [source for source in sources if source.is_short]
        if short:
            parts += yield from _read(config, short, min(_PAGE, most))
            continue
        full = [source for source in sources if source.waiting]
        if not full:
            break
        line = min(full, key=lambda source: source.waiting[0].next_ms).waiting.popleft()
        repeated += line.name in found
        found.setdefault(line.name, line)
    total = sum(source.there for source in sources) - parts - repeated
    return list(found.values()), max(0, total - len(found))


def _read(config: PoolConfig, sources: Sequence[_Source], count: int) -> Steps[int]:
    """Read the next page of these places, those of a pool together; return the parts of flows."""
    parts = 0
    for pool in sorted({source.pool for source in sources}):
        of_pool = [source for source in sources if source.pool == pool]
        calls = [(s.number, numbered(s.number, flow.batches(s.offset, count))) for s in of_pool]
        pages = dict((yield from ask_each(config.of(pool), calls)))
        parts += sum(source.take(*pages[source.number]) for source in of_pool)
    return parts
