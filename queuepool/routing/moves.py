"""The stored plan of a move, which commands write and the leading coordinator carries out. Pure.

    asked --leader: nothing is in the way--> moving --every slot at its goal, nothing left--> ended
      |                                        |
      |--leader: something is--> refused       +--abort--> aborting --the same, back--> aborted
      `--abort--> aborted

It is the field `move` of the route record, so whoever changes it does so with the version that it
read, and a plan is never half there. While it is moving or aborting, `goal` says where each slot is
to be, and the record where it is: what is left to do is the difference. `source` and `dest` belong
to the slots that the record has as `moving`, of which there is one part at a time.

A move of partitions to other servers is the same between a partition and its new place (see
queuepool.models.places): slots keep their partition, so `goal` is the table that there is. At its
end one change of the record makes the new place that of the partition; nothing is copied again.

A move of single slots, off a hot partition, is one whose goal is the table that there is but for
these slots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from queuepool.errors import ConfigurationError
from queuepool.models import RouteRecord
from queuepool.models.places import new_place
from queuepool.routing.ranges import slots_text
from queuepool.routing.slots import SLOTS
from queuepool.routing.views import View, read_table, table_text

_LONGEST = 300  # characters of a reason


class Stage(StrEnum):
    """How far a move is."""

    ASKED = "asked"
    MOVING = "moving"
    ABORTING = "aborting"
    ENDED = "ended"
    ABORTED = "aborted"
    REFUSED = "refused"


UNDER_WAY = frozenset((Stage.ASKED, Stage.MOVING, Stage.ABORTING))


class Move(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A move to so many partitions. goal: the partition of each slot at the end; back: before it.

    before: how many partitions there were. servers: where partitions are to be, as
    QUEUEPOOL_PLACEMENT; empty: as it was. source, dest: of the slots that are on their way, -1 if
    none are. to: partitions that are to go to other servers, and to which. at_ms: when it was asked
    for. reason: why it was refused, or what it waits for.
    """

    stage: Stage
    partitions: int
    before: int
    goal: str = ""
    back: str = ""
    servers: str = ""
    source: int = -1
    dest: int = -1
    to: dict[int, str] = {}
    slots: dict[int, int] = {}
    at_ms: int = 0
    reason: str = ""

    @property
    def under_way(self) -> bool:
        """Return whether there is anything left to do."""
        return self.stage in UNDER_WAY

    @property
    def largest(self) -> int:
        """Return how many partitions there are while it is under way."""
        return max(self.partitions, self.before)

    @property
    def text(self) -> str:
        """Return what it does, for people."""
        if self.to:
            return "of " + " and ".join(f"partition {n} to server {self.to[n]}" for n in self.to)
        if self.slots:
            return "of " + _slots_said(self.slots)
        plural = "" if self.partitions == 1 else "s"
        return f"from {self.before:,} to {self.partitions:,} partition{plural}"

    @property
    def wanted(self) -> str:
        """Return what was asked for, for people, also while it is on its way back."""
        if self.stage is not Stage.ABORTING:
            return self.text
        there = msgspec.structs.replace(self, partitions=self.before, before=self.partitions)
        return there.text

    def table(self) -> tuple[int, ...]:
        """Return the goal: the place of each slot. Raises ConfigurationError when it is damaged."""
        table = read_table(self.goal, self.largest)
        if not self.to or self.stage is Stage.ABORTING:
            return table
        return tuple(new_place(n) if n in self.to else n for n in table)

    @property
    def emptied(self) -> tuple[int, ...]:
        """Return the places that have no jobs at its end."""
        if not self.to:
            return tuple(range(self.partitions, self.largest))
        return tuple(map(new_place, self.to) if self.stage is Stage.ABORTING else self.to)

    @property
    def places(self) -> tuple[int, ...]:
        """Return all places that there are while it is under way."""
        return (*range(self.largest), *map(new_place, self.to))

    def begun(self) -> Move:
        """Return it under way."""
        return msgspec.structs.replace(self, stage=Stage.MOVING, reason="")

    def because(self, reason: str) -> Move:
        """Return it with what it waits for."""
        return msgspec.structs.replace(self, reason=reason[:_LONGEST])

    def part(self, source: int = -1, dest: int = -1) -> Move:
        """Return it with some slots on their way, or none."""
        return msgspec.structs.replace(self, source=source, dest=dest, reason="")

    def aborted(self) -> Move:
        """Return it on the way back."""
        return msgspec.structs.replace(
            self,
            stage=Stage.ABORTING,
            partitions=self.before,
            before=self.partitions,
            goal=self.back,
            reason="",
        )

    def over(self, stage: Stage, reason: str = "") -> Move:
        """Return what is kept of it."""
        return Move(
            stage=stage,
            partitions=self.partitions,
            before=self.before,
            to=self.to,
            slots=self.slots,
            at_ms=self.at_ms,
            reason=reason[:_LONGEST],
        )


_decoder, _encoder = msgspec.json.Decoder(Move), msgspec.json.Encoder()


def read_move(record: RouteRecord | None) -> Move | None:
    """Return the move of a record, None if there never was one. Raises ConfigurationError."""
    if record is None or not record.move:
        return None
    try:
        return _decoder.decode(record.move)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise ConfigurationError(f"the move in the route record cannot be read: {error}") from None


def move_text(move: Move) -> str:
    """Return a move as the record has it."""
    return _encoder.encode(move).decode()


def table_of(view: View) -> tuple[int, ...]:
    """Return the place of each slot: its partition, or the new place of that."""
    if not view.arrived:
        return view.table_of_homes()
    return tuple(map(view.place_of_slot, range(SLOTS)))


def asked(view: View, partitions: int, *, servers: str = "", at_ms: int = 0) -> Move:
    """Return the plan of a move to so many partitions."""
    table = table_of(view)
    return Move(
        stage=Stage.ASKED,
        partitions=partitions,
        before=len(view.placement),
        goal=table_text(balanced(table, partitions)),
        back=table_text(table),
        servers=servers,
        at_ms=at_ms,
    )


def asked_to(view: View, to: Mapping[int, str], *, at_ms: int = 0) -> Move:
    """Return the plan of a move of some partitions to other servers."""
    count, text = len(view.placement), table_text(table_of(view))
    return Move(
        stage=Stage.ASKED,
        partitions=count,
        before=count,
        goal=text,
        back=text,
        to=dict(to),
        at_ms=at_ms,
    )


def asked_slots(view: View, slots: Mapping[int, int], *, at_ms: int = 0) -> Move:
    """Return the plan of a move of some slots to other partitions."""
    count, table = len(view.placement), table_of(view)
    goal = [slots.get(slot, where) for slot, where in enumerate(table)]
    return Move(
        stage=Stage.ASKED,
        partitions=count,
        before=count,
        goal=table_text(goal),
        back=table_text(table),
        slots=dict(slots),
        at_ms=at_ms,
    )


def _slots_said(slots: Mapping[int, int]) -> str:
    """Return which slots go where, for people."""
    by_goal: dict[int, list[int]] = {}
    for slot, goal in sorted(slots.items()):
        by_goal.setdefault(goal, []).append(slot)
    return " and ".join(
        f"slot{'s' if len(some) > 1 else ''} {slots_text(some)} to partition {goal}"
        for goal, some in sorted(by_goal.items())
    )


def balanced(table: Sequence[int], partitions: int) -> tuple[int, ...]:
    """Return where slots are when so many partitions share them evenly.

    As few move as possible; where slot mod N moves no more, it is that.
    """
    plain = tuple(slot % partitions for slot in range(SLOTS))
    room = [SLOTS // partitions + (n < SLOTS % partitions) for n in range(partitions)]
    found, homeless = list(table), list[int]()
    for slot, where in enumerate(table):
        if where < partitions and room[where] > 0:
            room[where] -= 1
        else:
            homeless.append(slot)
    if sum(a != b for a, b in zip(plain, table, strict=True)) <= len(homeless):
        return plain
    free = (n for n in range(partitions) for _ in range(room[n]))
    for slot in homeless:
        found[slot] = next(free)
    return tuple(found)


def differing(table: Sequence[int], goal: Sequence[int]) -> dict[tuple[int, int], list[int]]:
    """Return the slots that are not where they are to be: by where they are, and are to be."""
    found: dict[tuple[int, int], list[int]] = {}
    for slot, way in enumerate(zip(table, goal, strict=True)):
        if way[0] != way[1]:
            found.setdefault(way, []).append(slot)
    return found


def is_plain(table: Sequence[int], partitions: int) -> bool:
    """Return whether a table says nothing but slot mod N."""
    return all(where == slot % partitions for slot, where in enumerate(table))
