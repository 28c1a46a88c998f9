"""A leader that moves slots, call by call, in the order in which the product's own leader does.

What is stored is the record; each call may be the last one, or be made twice. How a group is copied
is the product's own: coordinator.core.moves.copying.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from coordinator.core.moves.copying import Copied, Side, copying, copying_astray, copying_back
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.moves import verbs as move
from queuepool.verbs.moves.verbs import Exported, Walked
from tests.property.model import moves
from tests.property.model.moves import Page
from tests.property.model.names import slot_of
from tests.property.model.routes import Record
from tests.property.model.space import Space
from tests.property.model.state import State

Expect = Callable[[State, Space, Any], Any]


@dataclass(slots=True)
class Step:
    """A call of a place, or a change of the record. version: of the step; None: of any.

    expect: tells the model of the place, and returns what the reply is to be.
    """

    place: int = -1
    verb: Verb[Any] | None = None
    version: int | None = None
    expect: Expect | None = None
    before: Record | None = None
    after: Record | None = None
    page: Page = field(default_factory=lambda: Page(None, {}))

    @property
    def only_looks(self) -> bool:
        """Return whether it changes nothing, so that it does not matter what comes between."""
        return self.verb is not None and self.verb.script == "walk"


Steps = Generator[Step, Any, Any]


class _BehindError(Exception):
    """A place accepts only later versions: another one leads."""


class Leader:
    """One process that leads. most: slots that go at once; kept: groups that cannot leave."""

    def __init__(self, places: Iterable[int], read: Callable[[], Record], most: int) -> None:
        self._places, self._read, self._most = tuple(places), read, most
        self._kept, self._busy = set[tuple[int, bytes]](), set[int]()
        self._told: dict[int, int] = {}
        self._steps: Steps = self._lead()
        self.step = self._following(None)

    @property
    def has_copied(self) -> bool:
        """Return whether jobs are in both partitions, until the next step."""
        verb = self.step.verb if self.step is not None else None
        return verb is not None and verb.script == "forget" and len(verb.args) > 3

    def done(self, reply: Any) -> None:
        """Hear the reply of the step, and turn to the next one."""
        self.step = self._following(reply)

    def _following(self, reply: Any) -> Step | None:
        try:
            step: Step = self._steps.send(reply)
        except (StopIteration, _BehindError):
            return None
        return step

    def _lead(self) -> Steps:
        """Yield steps until nothing moves."""
        settled = False
        while (record := self._read()).under_way:
            if record.stage == "asked":
                before = max(1, record.version - 1)
                yield from self._tell(self._places, record.version, moves=True, since=before)
                yield from _change(record, record.changed(stage="moving"))
            elif record.closed:
                yield from self._carry(record)
            else:
                if not settled:
                    yield from self._tell(self._places, record.version, moves=True)
                    yield from self._thaw(self._places, record.version)
                    settled = True
                yield from self._next(record)

    def _next(self, record: Record) -> Steps:
        """Drain some slots and close them, or end the move."""
        way = self._way(record) or (yield from self._astray(record))
        if way is None:
            yield from self._end(record)
            return
        source, dest, slots = way
        found = yield from self._walk(source, slots)
        yield from self._tell((source,), record.version)
        running = yield from self._freeze(source, record.version, found)
        self._busy |= running
        if closed := frozenset(slots - running):
            yield from self._tell((dest,), record.version)
            yield from _change(record, record.changed(closed=closed, source=source, dest=dest))

    def _way(self, record: Record) -> tuple[int, int, set[int]] | None:
        left = [slot for slot, goal in record.goal.items() if record.homes[slot] != goal]
        left = [slot for slot in left if slot not in self._busy] or left
        for slot in left:
            way = record.homes[slot], record.goal[slot]
            slots = [s for s in left if (record.homes[s], record.goal[s]) == way]
            return *way, set(slots[: self._most])
        return None

    def _astray(self, record: Record) -> Steps:
        for place in self._places:
            found = yield from self._walk(place, record.goal)
            for group, slot in found.slots.items():
                if record.homes[slot] != place and (place, group) not in self._kept:
                    return place, record.homes[slot], {slot}
        return None

    def _end(self, record: Record) -> Steps:
        yield from self._thaw(self._places, record.version)
        yield from self._tell(self._places, record.version, moves=False)
        ended = record.changed(stage="ended")
        yield from _change(record, ended)
        yield from self._tell_all(ended.version)

    def _carry(self, record: Record) -> Steps:
        """Carry the slots that are closed, and open them where they are by then."""
        first, source, dest = min(record.closed), record.source, record.dest
        if record.goal[first] == source == record.homes[first]:  # aborted: the same, back
            yield from _change(record, record.changed(source=dest, dest=source))
            return
        yield from self._tell((source,), record.version, closing=record.closed)
        yield from self._tell((dest,), record.version)
        found = yield from self._walk(source, record.closed)
        running = yield from self._freeze(source, record.version, found, closed=True)
        self._busy |= running
        if running:  # a job came and started before the slots were closed
            yield from self._open(record, record.changed(closed=frozenset()))
            return
        copy = copying_astray if record.homes[first] == dest else copying
        copy = copying_back if record.stage == "aborting" else copy
        for group in found.slots:
            steps = copy(record.version, group, found.dead.get(group, ()))
            copied = yield from _copied(record, group, steps, settings=copy is not copying_astray)
            if not copied.done:
                self._kept.add((source, group))
        homes = {**record.homes, **dict.fromkeys(record.closed, dest)}
        yield from self._open(record, record.changed(closed=frozenset(), homes=homes))

    def _open(self, record: Record, after: Record) -> Steps:
        yield from _change(record, after)
        yield from self._tell((record.source, record.dest), after.version)
        yield from self._thaw((record.source, record.dest), after.version)

    def _tell(
        self,
        places: Iterable[int],
        version: int,
        *,
        moves: bool | None = None,
        **options: Any,
    ) -> Steps:
        known = {"since": None, "closing": (), **options}
        for place in places:
            told = self._told.get(place, 0)
            yield from self._turn(place, version, moves=moves, told=told, **known)
            self._told[place] = version

    def _tell_all(self, version: int) -> Steps:
        for place in self._places:
            yield from self._turn(place, version, moves=False, told=None, since=None, closing=())

    def _turn(self, place: int, version: int, **options: Any) -> Steps:
        def expect(s: State, _: Space, _reply: Any) -> int:
            return moves.turn_away(s, version, **options)

        if (yield Step(place, lead.turn_away(version, **options), expect=expect)) > version:
            raise _BehindError

    def _thaw(self, places: Iterable[int], version: int) -> Steps:
        for place in places:
            yield Step(place, move.thaw(version), version, _thawed)

    def _freeze(self, place: int, version: int, found: Walked, *, closed: bool = False) -> Steps:
        """Freeze groups; return the slots of those of which jobs run."""
        if not found.slots:
            return set()
        names = list(found.slots)

        def expect(s: State, _: Space, reply: Any) -> list[int]:
            return moves.freeze(s, version, names, closed=closed)

        verb = move.freeze(version, found.slots, closed=closed)
        counts = yield Step(place, verb, version, expect)
        return {found.slots[name] for name, n in zip(names, counts, strict=True) if n > 0}

    def _walk(self, place: int, slots: Collection[int]) -> Steps:
        """Return what a place has of slots: groups with jobs, frozen or noted ones, and records."""
        found = Walked()
        cursor = b""
        while cursor != b"0":
            begun = cursor or b"0"
            cursor, page = yield Step(place, move.walk(begun), expect=_walked(begun))
            found.add(page)
        for look in (move.frozen, move.configured, move.recorded):
            cursor = b""
            while cursor != b"0":
                cursor, named = yield Step(
                    place, look(cursor or b"0"), expect=lambda _s, _space, r: r
                )
                for group, slot in named.items():
                    assert slot in (None, slot_of(group)), f"{group!r} says that its slot is {slot}"
                    found.slots[group] = slot_of(group)
        return found.of(slots)


def _walked(begun: bytes) -> Expect:
    def expect(s: State, _: Space, reply: Any) -> Any:
        if begun == b"0" == reply[0]:  # all in one page
            moves.check_walk(s, reply[1])
        return reply

    return expect


def _thawed(s: State, space: Space, reply: Any) -> int:
    thawed = set(s.frozen)
    promised = moves.thaw(s)
    if any(sum(s.able(name)) for name in thawed & set(s.groups)):
        assert b"w" in space.list("wk"), "an idle owner was not woken"
    return promised


def _change(record: Record, after: Record) -> Iterator[Step]:
    yield Step(before=record, after=after)


def _copied(
    record: Record, group: bytes, steps: Generator[Any, Any, Copied], *, settings: bool
) -> Steps:
    """Yield the calls that copy a group; return what is still at its source."""
    page, reply = Page(None, {}), None
    while True:
        try:
            side, verb, _ = steps.send(reply)
        except StopIteration as end:
            return end.value
        place = record.source if side is Side.A else record.dest
        step = Step(place, verb, record.version, page=page)
        step.expect = _EXPECTED[verb.script](step, record.version, group, settings)
        reply = yield step
        page = step.page if verb.script == "export" else page


def _exports(step: Step, version: int, group: bytes, settings: bool) -> Expect:
    assert step.verb is not None
    dead = [bytes(i) for i in step.verb.args[4:] if isinstance(i, bytes)]

    def expect(s: State, _: Space, reply: Exported) -> Exported:
        step.page = moves.export(s, group, dead, [i for i, _ in reply.stamps])
        assert bool(reply.record) == (group in s.groups), f"{group!r} is {reply.record}"
        return reply

    return expect


def _adopts(step: Step, version: int, group: bytes, settings: bool) -> Expect:
    assert step.verb is not None
    args = step.verb.args
    last, page = int(args[3 + 2 * int(args[2])]) > 0, step.page

    def expect(s: State, space: Space, reply: Any) -> Any:
        adopted = moves.adopt(s, version, group, page, settings=settings, last=last)
        moves.take_over_order(s, space)
        return adopted

    return expect


def _forgets(step: Step, version: int, group: bytes, settings: bool) -> Expect:
    assert step.verb is not None
    mode, page = (
        str(step.verb.args[2]),
        step.page.some({i for i in step.verb.args[3::2] if isinstance(i, bytes)}),
    )

    def expect(s: State, space: Space, reply: Any) -> tuple[int, int]:
        return moves.forget(s, version, group, page, mode, set(space.hash("cx")))

    return expect


_EXPECTED: dict[str, Callable[[Step, int, bytes, bool], Expect]] = {
    "export": _exports,
    "adopt": _adopts,
    "forget": _forgets,
}
