"""From a queue without partitions to partitions: what the phases are, and the steps between them.

    0  off       QUEUEPOOL_PARTITIONED=false everywhere: all jobs are in the legacy place
    1  ready     consumers of partitions, and coordinators, run beside it, with nothing to do
    2  shifting  jobs of some slots go to partitions; older routes are turned away
    3  draining  all new jobs go to partitions; the legacy place runs what it has
    4  sealed    it is empty and closed: who still has the flag is refused, with the remedy

Jobs never move: those of the legacy place end there. So in each place, and over all of them, what
was enqueued is what is there and what has ended, at any moment. Until 4, the way back is the same.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from queuepool.cli.display.fields import when
from queuepool.cli.exits import CommandError, Exit
from queuepool.client.pool import QueuePool
from queuepool.errors import ScriptError
from queuepool.models import JobState, PartitionState, RouteRecord
from queuepool.models.places import LEGACY
from queuepool.partitions.partition import Partition
from queuepool.routing.ranges import read_slots, slots_text
from queuepool.routing.slots import SLOTS
from queuepool.routing.views import OPEN, SEALED
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.operator import verbs as operate

PHASES = ("off", "ready", "shifting", "draining", "sealed")
_ENDED = ("done", "cancelled", "expired", "evicted", "discarded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The jobs of one or several places since they began. live: there, and not dead."""

    enqueued: int = 0
    live: int = 0
    dead: int = 0
    ended: int = 0

    @property
    def missing(self) -> int:
        """Return how many were enqueued, and neither are there nor ended: 0."""
        return self.enqueued - self.live - self.dead - self.ended

    def plus(self, other: Totals) -> Totals:
        """Return the sum."""
        return Totals(
            enqueued=self.enqueued + other.enqueued,
            live=self.live + other.live,
            dead=self.dead + other.dead,
            ended=self.ended + other.ended,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Where a migration stands. unowned: partitions without a consumer."""

    record: RouteRecord
    legacy: Totals
    partitions: Totals
    unowned: tuple[int, ...]
    legacy_owned: bool

    @property
    def slots(self) -> frozenset[int]:
        """Return the slots whose jobs go to the legacy place."""
        return read_slots(self.record.legacy) if self.record.migration == OPEN else frozenset()

    @property
    def percent(self) -> float:
        """Return the share of slots whose jobs go to partitions."""
        return 100 * (SLOTS - len(self.slots)) / SLOTS

    @property
    def phase(self) -> int:
        """Return the number of the phase."""
        if self.record.migration == SEALED:
            return 4
        if not self.slots:
            return 3
        if len(self.slots) < SLOTS:
            return 2
        return 0 if self.unowned else 1


class Migration:
    """Reads and changes the route of a queue that began without partitions."""

    def __init__(self, pool: QueuePool) -> None:
        self._pool = pool

    def facts(self) -> Facts:
        """Return where it stands. Raises CommandError for a queue that always had partitions."""
        record = self._pool.route.read()
        if record is None or not record.migration:
            raise CommandError(
                "this queue has had partitions from the start, or has not been used yet: there is "
                "nothing to migrate. A queue without partitions starts with "
                "QUEUEPOOL_PARTITIONED=false in all its processes; see docs/migration.md",
                Exit.USAGE,
            )
        places = self._places()
        if record.migration == SEALED:  # it is not among the places any more, but has its counts
            places += self._pool.places(LEGACY)
        states = [(place, place.observe()) for place in places]
        owned = {place.number for place, state in states if _is_owned(state)}
        known = range(self._pool.config.topology.partitions)
        return Facts(
            record=record,
            legacy=_totals([s for place, s in states if place.number == LEGACY]),
            partitions=_totals([s for place, s in states if place.number != LEGACY]),
            unowned=tuple(number for number in known if number not in owned),
            legacy_owned=LEGACY in owned,
        )

    def set_legacy(self, facts: Facts, slots: frozenset[int]) -> None:
        """Let jobs of these slots go to the legacy place, and all others to partitions."""
        self._change(facts, {"legacy": slots_text(slots)})

    def seal(self, facts: Facts) -> None:
        """Close the legacy place. Raises CommandError while it has, or may get, jobs."""
        if facts.phase < 3:
            raise CommandError(
                f"{100 - facts.percent:g} % of the slots are still in the legacy place, where "
                "producers are active: `queuepool migrate shift 100%` first; nothing was sealed"
            )
        self._turn_away(facts.record.version)  # as an earlier command may have been killed
        left = self.facts().legacy
        if left.live or left.dead:
            raise CommandError(
                f"the legacy place has {left.live:,} jobs that have not ended, and {left.dead:,} "
                "dead ones, so it is not sealed. Let its consumer run until they have ended; "
                f"replay or discard the dead (`queuepool dead`){self._delayed()}"
            )
        self._change(facts, {"migration": SEALED, "legacy": ""})

    def _delayed(self) -> str:
        """Return how many jobs of the legacy place are delayed, until when, and what to do."""
        last = next(self._pool.inspect.find(JobState.DELAYED, partition=LEGACY), None)
        if last is None or last.at_ms is None:
            return ""
        count = self._pool.inspect.count(JobState.DELAYED, partition=LEGACY)
        return (
            f". Delayed: {count:,}, the last until {when(last.at_ms)}: `queuepool job find "
            f"--state delayed --partition {LEGACY}` lists them. Keep the consumer, which may idle, "
            "until they have run; or run them now (`queuepool job run ID`); or cancel them "
            "(`queuepool job cancel ID`) and enqueue them again, which stores them in their "
            "partitions"
        )

    def _change(self, facts: Facts, changes: dict[str, str]) -> None:
        places, version = self._places(), facts.record.version
        if any(getattr(facts.record, name) != value for name, value in changes.items()):
            server, key = self._pool.system
            verb = operate.change_route(version, secrets.token_hex(8), changes)
            changed, version = verb.read(server.run(key, [verb])[0])
            if not changed:
                raise CommandError(
                    f"the route was changed in the meantime, to version {version}; nothing was "
                    f"done: check `queuepool migrate status` and try again"
                )
        self._turn_away(version, places)

    def _turn_away(self, version: int, places: Sequence[Partition] | None = None) -> None:
        """Let no place accept jobs by an older route. Repeated, it changes nothing."""
        for place in self._places() if places is None else places:
            place.run(lead.turn_away(version))

    def _places(self) -> list[Partition]:
        try:
            return self._pool.places()
        except ScriptError as error:
            raise CommandError(
                f"{error} This command needs the permissions of an operator"
            ) from None


def _is_owned(state: PartitionState) -> bool:
    return state.owner is not None and state.owner.lease_ms > 0


def _totals(states: Sequence[PartitionState]) -> Totals:
    found = Totals()
    for state in states:
        counted = state.counters
        found = found.plus(
            Totals(
                enqueued=counted.get("enqueued", 0),
                live=state.jobs - state.dead,
                dead=state.dead,
                ended=sum(counted.get(name, 0) for name in _ENDED),
            )
        )
    return found
