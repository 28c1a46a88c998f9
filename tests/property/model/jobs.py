"""Rules of jobs: each calls a real script, tells the model, and compares the replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from queuepool.protocol.codec import read_stamp
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.property.model import ending, enqueueing, holding
from tests.property.model.enqueueing import Run
from tests.property.model.machine import (
    ERROR,
    OWN_IDS,
    STEP_S,
    WEIGHTS,
    BaseMachine,
    delays,
    picks,
    tiers,
    who,
)
from tests.property.model.names import group_of
from tests.property.model.process import FENCED, Life, enqueue_verb, finish_verb
from tests.property.model.records import Place


class JobsMachine(BaseMachine):
    """Producers, and the owner at work, or who believes to be the owner."""

    def new_ids(self, count: int) -> list[bytes]:
        self.fresh += count
        return [b"id%05d" % n for n in range(self.fresh - count, self.fresh)]

    def enqueue(
        self,
        ids: Sequence[bytes],
        tier: int,
        delay: int,
        room: int,
        *,
        unique: int = 0,
        until: bytes = b"e",
        expires: int = 0,
        mode: bytes = b"",
        gates: Mapping[bytes, bytes] = MappingProxyType({}),
    ) -> None:
        groups = {group_of(i): [k for k in ids if group_of(k) == group_of(i)] for i in ids}
        keys = {i: b"%skey%d" % (until, sum(i) % unique) for i in ids if unique}
        runs = [
            Run(tier, g, delay * STEP_S, tuple(mine), keys, expires * STEP_S, mode, gates)
            for g, mine in groups.items()
        ]
        depth = len(self.state.jobs) - len(self.state.at(Place.DEAD))
        idle, empty = self.state.ready() == 0, set(gates.values()) - set(self.space.hash("gt"))

        reply = self.run(enqueue_verb(runs, max_depth=depth + room))

        if len(ids) > room:
            assert isinstance(reply, produce.Full)
            assert reply.depth == depth
            return
        assert reply == enqueueing.enqueue(self.state, runs)
        if idle and self.state.ready():
            assert b"w" in self.space.list("wk"), "an idle owner was not woken"
        if empty & set(self.space.hash("gt")):
            assert b"g" in self.space.list("wk"), "the owner was not told of a gate"

    @rule(count=st.integers(1, 12), tier=tiers, delay=delays)
    def enqueue_new(self, count: int, tier: int, delay: int) -> None:
        self.enqueue(self.new_ids(count), tier, delay, 1000)

    @rule(ids=st.lists(st.sampled_from(OWN_IDS), min_size=1, max_size=5), tier=tiers, delay=delays)
    def enqueue_own_ids(self, ids: list[bytes], tier: int, delay: int) -> None:
        self.enqueue(ids, tier, delay, 1000)

    @rule(
        own=st.lists(st.sampled_from(OWN_IDS), max_size=3),
        count=st.integers(1, 3),
        tier=tiers,
        delay=delays,
        keys=st.integers(0, 3),
        until=st.sampled_from((b"e", b"s")),
        expires=st.sampled_from((0, 1, 2)),
        mode=st.sampled_from((b"", b"r", b"d")),
    )
    def enqueue_with_wishes(
        self,
        own: list[bytes],
        count: int,
        tier: int,
        delay: int,
        keys: int,
        until: bytes,
        expires: int,
        mode: bytes,
    ) -> None:
        ids = [*own, *self.new_ids(count)]
        wishes: dict[str, Any] = {"until": until, "expires": expires, "mode": mode}
        self.enqueue(ids, tier, delay, 1000, unique=keys, **wishes)

    @rule(picks=picks)
    @precondition(lambda self: self.state.jobs)
    def enqueue_again(self, picks: list[int]) -> None:
        living = sorted(self.state.jobs)
        self.enqueue([living[n % len(living)] for n in picks], 1, 0, 1000)

    @rule(count=st.integers(1, 5), room=st.integers(0, 4))
    def enqueue_where_room_is_short(self, count: int, room: int) -> None:
        self.enqueue(self.new_ids(count), 2, 0, room)

    @rule(tier=tiers, delay=delays)
    @precondition(lambda self: len(self.state.jobs) < 300)
    def enqueue_bulk(self, tier: int, delay: int) -> None:
        self.enqueue(self.new_ids(190), tier, delay, 1000)

    @rule(
        back=who,
        limit=st.sampled_from((1, 3, 8, 25, 200)),
        ahead=st.integers(0, 10),
        weights=st.sampled_from(WEIGHTS),
        shortest_ms=st.sampled_from((None, None, 0, 60_000)),
    )
    def claim(
        self,
        back: int,
        limit: int,
        ahead: int,
        weights: tuple[int, int, int, int],
        shortest_ms: int | None = None,
    ) -> None:
        life, starting = self.life(back), max(0, limit - ahead)
        self.client.delete(self.partition.key + b":wk")
        before = deepcopy(self.state)
        verb = own.claim(
            life.ownership,
            limit,
            starting=starting,
            promote_after_ms=0,
            weights=weights,
            shortest_ms=shortest_ms,
        )

        def expect(reply: own.Claims) -> own.Claims:
            life.bodies.update(zip(reply.ids, reply.bodies, strict=True))
            marks = set(self.space.hash("cx"))
            limits, epoch = self.space.hash("lm"), life.ownership.epoch
            assert reply.roused == (
                b"" if self.state.held else holding.said_of_released(self.state)
            )
            holding.check_claimed(self.state, reply.ids)
            late = enqueueing.expire(self.state, set(self.space.hash("j")))
            parked = {i for i, said in limits.items() if said.startswith(b"p|")}
            late += holding.set_aside(self.state, epoch, reply.ids, parked, self.space.ids("dl"))
            went = late + enqueueing.claim(
                self.state, epoch, reply.ids, marks, limits, limit, starting
            )
            assert list(reply.limits) == [
                x for i in reply.ids if (gate := self.state.jobs[i].gate) for x in (i, gate)
            ]
            taken = len(reply.ids) + went
            groups = self.state.groups.values()
            managed = any(g.stopped or g.most or g.serial or g.moved for g in groups)
            managed = managed or any(t.held or t.most for t in self.state.tenants.values())
            full = reply.taken == limit and managed
            assert full or reply.taken == taken, "marks are not counted as taken"
            assert not [i for i in reply.ids if before.is_late(i)], "a job ran that is too late"
            # In a capped lane a mark takes the place of a job, which the next claim gets.
            if not sum(weights) and not (managed and went):
                enqueueing.check_tiers(before, epoch, reply.ids)
            done = self.state.held or not self.state.ready()
            assert reply.taken == limit or done, "claimed less than there is"
            jobs = [self.state.jobs[i] for i in reply.ids]
            for stored, numbers in (
                (reply.attempts, [j.attempts for j in jobs]),
                (reply.crashes, [j.crashes or 0 for j in jobs]),
            ):
                assert [int(n or 0) for n in stored] in ([], numbers)
                assert stored or not any(numbers)
            return reply

        self.as_owner(life, verb, expect, draining=False)

    @rule(back=who, picks=picks)
    def finish(self, back: int, picks: list[int]) -> None:
        self.finish_ids(self.life(back), self.life(back).pick(picks))

    @rule(back=who)
    def finish_all(self, back: int) -> None:
        self.finish_ids(self.life(back), list(self.life(back).bodies)[-200:])

    @rule(back=who, ids=st.lists(st.sampled_from((*OWN_IDS, b"never")), min_size=1, max_size=3))
    def finish_foreign(self, back: int, ids: list[bytes]) -> None:
        self.finish_ids(self.life(back), ids)

    @rule(back=who, picks=picks)
    @precondition(lambda self: self.state.jobs)
    def finish_anything(self, back: int, picks: list[int]) -> None:
        living = sorted(self.state.jobs)
        self.finish_ids(self.life(back), [living[n % len(living)] for n in picks])

    def finish_ids(self, life: Life, ids: list[bytes]) -> None:
        if of_batches := [i for i in ids if b"~" in i]:
            self.finish_strays(life, of_batches)  # as a consumer does: this one tells their batch
        ids = [i for i in ids if b"~" not in i]
        if not ids:
            return
        runs = {group_of(i): [k for k in ids if group_of(k) == group_of(i)] for i in ids}

        def expect(_: own.Finished) -> own.Finished:
            finished, duplicates, left = ending.finish(self.state, life.ownership.epoch, runs)
            return own.Finished(finished, duplicates, 0, left)

        reply = self.as_owner(life, finish_verb(life, ids), expect)
        if reply != FENCED and reply.left:
            self.finish_strays(life, reply.left)

    @rule(back=who, picks=picks)
    def finish_again(self, back: int, picks: list[int]) -> None:
        if ids := self.life(back).pick(picks):
            self.finish_strays(self.life(back), ids)

    def finish_strays(self, life: Life, ids: Sequence[bytes]) -> None:
        jobs = [(i, life.stamp(i), 60_000 * (sum(i) % 3 == 0), b"1") for i in ids]
        known = [(i, i in self.claimed(life, [i])) for i in ids]
        self.as_owner(
            life,
            own.finish_stray(life.ownership, jobs),
            lambda _: own.Finished(*ending.finish_stray(self.state, life.ownership.epoch, known)),
        )

    def claimed(self, life: Life, ids: Sequence[bytes]) -> list[bytes]:
        """Return these ids, with b"" for those whose body is another than the one claimed."""
        stored = self.space.hash("j")
        return [i if life.stamp(i) in (b"", read_stamp(stored.get(i, b""))) else b"" for i in ids]

    @rule(
        back=who,
        picks=picks,
        delay=delays,
        charge=st.sampled_from((True, False, "new", "other")),
        error=st.sampled_from((ERROR, b"")),
    )
    def retry(
        self, back: int, picks: list[int], delay: int, charge: bool | str, error: bytes
    ) -> None:
        life, delay_s = self.life(back), delay * STEP_S
        if isinstance(charge, str):
            delay_s = max(delay_s, STEP_S)  # at once is not what a job is set aside for
        picked = life.pick(picks)
        ids, stamps = self.claimed(life, picked), map(life.stamp, picked)
        self.as_owner(
            life,
            own.retry(life.ownership, [(i, delay_s * 1000, charge, error) for i in picked], stamps),
            lambda _: ending.retry(self.state, life.ownership.epoch, ids, delay_s, charge, error),
        )

    @rule(back=who, tasks=st.sampled_from((["new"], ["new", "old"], ["other", "new"])))
    def rouse(self, back: int, tasks: list[str]) -> None:
        life = self.life(back)
        self.as_owner(
            life,
            own.rouse(life.ownership, b"0", tasks),
            lambda _: ending.rouse(self.state, tasks),
            draining=False,
        )

    @rule(
        back=who,
        picks=picks,
        keep=st.sampled_from((1000, 4, 0)),
        keep_s=st.sampled_from((10**6, 1500)),
    )
    def bury(self, back: int, picks: list[int], keep: int, keep_s: int) -> None:
        life = self.life(back)
        picked = life.pick(picks)
        ids = self.claimed(life, picked)
        verb = own.bury(
            life.ownership,
            [(i, ERROR) for i in picked],
            map(life.stamp, picked),
            keep_jobs=keep,
            keep_bytes=2**40,
            keep_ms=keep_s * 1000,
        )

        def expect(_: Any) -> own.Buried:
            status = ending.bury(self.state, life.ownership.epoch, ids, ERROR)
            there, buried = set(self.space.ids("dead")), status.count(b"b")
            evicted = ending.evict(self.state, there, buried=buried, keep_jobs=keep, keep_s=keep_s)
            return own.Buried(status, evicted)

        self.as_owner(life, verb, expect)

    @rule(back=who, picks=picks)
    def start(self, back: int, picks: list[int]) -> None:
        life = self.life(back)
        if ids := life.pick(picks):
            self.as_owner(
                life,
                own.start(life.ownership, ids),
                lambda _: ending.start(self.state, life.ownership.epoch, ids),
            )

    @rule(back=who, picks=picks, verb=st.sampled_from((own.hand_back, own.end_cancelled)))
    def hand_back_or_abandon(self, back: int, picks: list[int], verb: Any) -> None:
        life = self.life(back)
        if picked := life.pick(picks):
            ids, stamps = self.claimed(life, picked), map(life.stamp, picked)
            promise = getattr(ending, verb.__name__)
            self.as_owner(
                life,
                verb(life.ownership, picked, stamps),
                lambda _: promise(self.state, life.ownership.epoch, ids),
            )

    @rule(back=who)
    def promote(self, back: int) -> None:
        life = self.life(back)

        def expect(reply: own.Promoted) -> own.Promoted:
            there = set(self.space.ids("dl"))
            promised = enqueueing.promote(self.state, there)
            late = {i: self.state.jobs[i].due[0] for i in self.state.at(Place.DELAYED)}
            passed = {i for i in late if self.state.is_copied(i) and late[i] <= self.state.now_s}
            waiting = [due_s for i, due_s in late.items() if i not in passed]
            assert (reply.next_due_ms is None) == (not waiting)
            assert (reply.next_due_ms == 0) == (min(waiting, default=10**9) <= self.state.now_s)
            return own.Promoted(*promised, reply.next_due_ms)

        self.as_owner(life, own.promote(life.ownership), expect, draining=False)
