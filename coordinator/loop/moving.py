"""Carries out the move that the route record asks for while this process leads, on its own thread.

    asked --> moving: part after part --all slots at their goal, nothing left elsewhere--> ended,
                                                                                       or aborted

A part is some slots that go from A to B; see docs/adr/0016-moves-behind-a-version.md:

    draining  their groups at A are frozen, until none of their jobs runs       record: as before
    closed    producers of these slots wait; A and B accept only this version   record: moving
    flipped   the slots are at B; A and B accept only this version, and thaw    record: moving none

Everything that matters is in the record and the partitions, and each step may be repeated: who
leads next begins with what the record says. What is in memory only saves work: which slots are
busy, and which jobs cannot leave since B has another one of their id. Whoever drives late finds its
version refused, by the record or by the partitions.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from coordinator.core.moves import records
from coordinator.core.moves.copying import copying, copying_astray, copying_back
from coordinator.core.moves.parts import fitting
from coordinator.core.moves.recent import Recent
from coordinator.loop.carrying import BehindError, Carrier, ChangedError
from coordinator.loop.finding import Finder, left_in
from coordinator.loop.move_record import MoveRecord
from coordinator.loop.pacing import InterruptedMoveError, Pacer
from coordinator.loop.relieving import Reliever
from coordinator.loop.walking import Walker
from coordinator.loop.ways import HeldError, VacantError, Ways
from coordinator.snapshots.moves import MoveBoard
from coordinator.snapshots.verdict import VerdictBoard
from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, MovedError
from queuepool.errors.hindrances import start_thread
from queuepool.models import RouteRecord
from queuepool.partitions.sameness import why_same
from queuepool.routing.moves import Move, Stage, differing, read_move, table_of
from queuepool.routing.ranges import read_slots, slots_text

INTERVAL_S, DRAIN_S = 1.0, 1.0
_BUSY_S, _AGAIN_S = 0.2, 0.05
_log = logging.getLogger("coordinator.moves")


class Mover:
    """Moves slots from start() to stop(). epoch: of our leadership; 0 while we do not lead.

    share: percent of the time for calls to servers. drain_s: how long it waits for jobs that run,
    before it takes other slots first.
    """

    def __init__(
        self,
        pool: QueuePool,
        epoch: Callable[[], int],
        share: float = 60,
        *,
        board: MoveBoard | None = None,
        reliever: Reliever | None = None,
        interval_s: float = INTERVAL_S,
        drain_s: float = DRAIN_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pool, self._epoch, self._interval_s = pool, epoch, interval_s
        self._stopping, self._board = threading.Event(), board or MoveBoard()
        self._of_epoch, self._clock = 0, clock
        self._recent = Recent()
        rest = self._stopping.wait
        self._paced = Pacer(share / 100, going=self._going, rest=rest)
        self._carrier = Carrier(pool, self._paced, drain_s=drain_s, rest=rest)
        self._walker = Walker(pool, self._paced)
        self._record = MoveRecord(pool, self._going)
        self._finder = Finder(pool, self._walker)
        self._ways = Ways(pool, self._carrier, self._walker, self._finder, clock)
        self._reliever = reliever or Reliever(VerdictBoard(), 0)
        self._forget()
        # A daemon, so that a hanging server does not keep the process from exiting.
        self._thread = threading.Thread(target=self._run, name="coordinator-moves", daemon=True)

    def start(self) -> None:
        """Start; call once. Raises NoThreadError."""
        start_thread(self._thread, "to move slots")

    def stop(self) -> None:
        """Stop soon, without waiting. Idempotent, legal before start."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._stopping.wait(self.look())

    def look(self) -> float:
        """Do the next step, if this process leads; return how long to pause. Does not raise."""
        epoch, before = self._epoch(), self._of_epoch
        self._of_epoch = epoch
        if epoch != before:
            self._recent.forget()
            self._reliever.forget()
            self._carrier.forget()
        try:
            pause_s = self._step() if self._of_epoch else self._forget()
        except InterruptedMoveError:
            return self._forget()
        except (ChangedError, MovedError):
            self._forget()
            return _AGAIN_S
        except BehindError as error:
            return self._catch_up(error.least)
        except Exception as error:  # whatever it is, the next look starts over
            self._forget()
            self._record.note(f"{type(error).__name__}: {error}"[:300])
            return self._interval_s
        finally:
            self._board.stands(self._pool.config.topology.view)
        return pause_s

    def _going(self) -> bool:
        return self._epoch() == self._of_epoch != 0 and not self._stopping.is_set()

    def _rest(self, record: RouteRecord | None, move: Move | None) -> float:
        """Do what is left when nothing moves: forget where slots were."""
        former = record.former if record is not None else ""
        if record is not None and former and not self._recent.still(former, self._clock()):
            places = self._pool.places()
            changed = self._record.change(record, move, former="")
            self._carrier.tell_all(places, changed)  # who asks former places stops asking
        elif record is not None:
            self._relieve(record, move)
        return self._forget()

    def _relieve(self, record: RouteRecord, last: Move | None) -> None:
        """Begin a move that nobody asked for, where that is allowed and helps."""
        found = self._reliever.wanted(self._pool.config.topology.view, last)
        if found is not None:
            with self._reliever.telling(found):
                self._begin(record, found.move)

    def _forget(self) -> float:
        """Assume nothing of what earlier steps did."""
        self._settled: tuple[int, Stage] | None = None
        self._ways.forget()
        self._finder.forget()
        return self._interval_s

    def _catch_up(self, least: int) -> float:
        """Give the record a later version than a partition knows: later ones were lost.

        One more than that, so that nothing is accepted by the version before it: see `_begin`.
        """
        self._forget()
        with contextlib.suppress(Exception):
            record = self._pool.config.topology.view.record
            while (
                record is not None and record.version <= least + 1 and (move := read_move(record))
            ):
                self._record.change(record, move)
                record = self._pool.config.topology.view.record
        return _AGAIN_S

    def _step(self) -> float:
        self._record.follow()
        record = self._pool.config.topology.view.record
        move = read_move(record)
        if record is None or move is None or not move.under_way:
            return self._rest(record, move)
        if move.stage is Stage.ASKED:
            self._begin(record, move)
        elif record.moving:
            self._carry(record, move)
        else:
            return self._next(record, move)
        return 0.0

    def _begin(self, record: RouteRecord, move: Move) -> None:
        if unknown := records.named(move) - self._pool.config.topology.servers.keys():
            raise ConfigurationError(f"QUEUEPOOL_SERVERS here names no server {min(unknown)!r}")
        if same := self._same(move):
            self._record.change(record, move.over(Stage.REFUSED, same))
            return
        places, before = self._pool.places(), max(1, record.version - 1)  # of who asked
        self._carrier.tell(places, record.version, moves=True, since=before)
        view = self._pool.config.topology.view
        self._record.change(record, move.begun(), **records.begun(record, view, move))
        _log.info("moving %s", move.text)

    def _same(self, move: Move) -> str:
        """Return why a move would carry a partition to where it is, and forget it there."""
        found = (why_same(self._pool, number, server) for number, server in move.to.items())
        return next(filter(None, found), "")

    def _open(self, record: RouteRecord, move: Move, **fields: str) -> None:
        """End a move, also for all places. Once more afterwards, with the new version.

        So what an earlier leader sent before it was replaced comes too late to change that.
        """
        places = self._pool.places()
        self._carrier.tell(places, record.version, moves=False)
        self._carrier.tell_all(places, self._record.change(record, move, **fields), moves=False)

    def _next(self, record: RouteRecord, move: Move) -> float:
        """Drain a part and close it; or end the move."""
        left = differing(table_of(self._pool.config.topology.view), move.table())
        if self._settled != (move.at_ms, move.stage):
            self._settle(record, move, left)
        self._board.keep(left)
        try:
            way = self._ways.choose(left, move, record.version)
        except HeldError as held:
            self._record.wait_for(record, move, str(held))
            return self._interval_s
        except VacantError:
            return _BUSY_S
        if way is None:
            return self._end(record, move)
        found = self._finder.on(way)
        slots = fitting(way.slots, list(found.values()))
        self._paced.hurry()
        running = self._carrier.drained(record.version, {p: w.of(slots) for p, w in found.items()})
        slots -= {slot for slot, _ in running}
        self._ways.busy |= {slot for slot, _ in running}
        if slots:
            self._carrier.tell(self._pool.places(way.dest), record.version)  # its server is up
            part = move.part(way.source, way.dest)
            self._record.change(record, part, moving=slots_text(slots))
            return 0.0
        self._record.wait_for(record, move, f"running jobs of {len(running)} task groups, such as "
                       f"{running[0][1].decode('utf-8', 'backslashreplace')}")  # fmt: skip
        return _BUSY_S

    def _settle(
        self, record: RouteRecord, move: Move, left: Mapping[tuple[int, int], Sequence[int]]
    ) -> None:
        """Let all places know that slots move, and learn which groups they have.

        From then on a group without jobs is noted when it is configured.
        """
        places = self._pool.places()
        self._carrier.tell(places, record.version, moves=True)
        self._carrier.thaw(places, record.version)
        if move.stage is Stage.MOVING:
            self._carrier.settle(move)
        self._board.found(self._walker.jobs_to_go(left))
        self._finder.learn({source for source, _ in left})
        self._settled = (move.at_ms, move.stage)

    def _carry(self, record: RouteRecord, move: Move) -> None:
        """Carry the slots that are closed, and open them where they are by then."""
        slots, view = read_slots(record.moving), self._pool.config.topology.view
        source, dest, first = move.source, move.dest, min(slots)
        if move.table()[first] == source == view.place_of_slot(first):  # aborted: the same, back
            self._record.change(record, move.part(dest, source))
            return
        losing, there = self._pool.places(source), self._pool.places(dest)
        self._carrier.tell(losing, record.version, closing=slots)
        self._carrier.tell(there, record.version)
        found = self._walker.found(source, slots.__contains__)
        running = self._carrier.drained(record.version, found, closed=True)
        here = source == view.place_of_slot(first)
        # A job came and started before the slots were closed; or a consumer did
        if running or (here and self._ways.held_before(found, there, slots)):
            self._ways.busy |= {slot for slot, _ in running}
            version = self._record.change(record, move.part(), moving="")
            self._carrier.tell([*losing, *there], version)
            self._carrier.thaw([*losing, *there], version)
            return
        moved = partial(self._board.moved, (source, dest))
        astray = copying_astray if view.place_of_slot(first) == dest else copying
        copy = copying_back if move.stage is Stage.ABORTING else astray
        for place, walked in found.items():
            kept = self._carrier.carry(place, dest, record.version, walked, copy, moved=moved)
            self._finder.keep(place, kept)
        server = self._pool.config.topology.server_of(source)
        former = self._recent.with_left(
            record.former, self._clock(), partition=source, server=server, slots=slots
        )
        fields = records.landed(view, move, slots, dest, former=former)
        version = self._record.change(record, move.part(), **fields)
        places = [*self._pool.places(source), *self._pool.places(dest)]
        self._carrier.tell(places, version)
        self._carrier.thaw(places, version)
        self._record.note("")

    def _end(self, record: RouteRecord, move: Move) -> float:
        """Retire partitions that are not needed, and end the move."""
        places, emptied = self._pool.places(), set(move.emptied)
        for place in places:
            if place.number in emptied and (what := left_in(place)):
                self._record.wait_for(record, move, what)
                return self._interval_s
        self._carrier.thaw(places, record.version)
        aborted = move.stage is Stage.ABORTING
        ended = move.over(Stage.ABORTED if aborted else Stage.ENDED)
        self._open(record, ended, **records.over(self._pool.config.topology.view, move))
        _log.info("the move %s has ended: %s", move.wanted, ended.stage)
        self._carrier.clear(place for place in places if place.number in emptied)
        return self._forget()
