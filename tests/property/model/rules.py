"""Rules of ownership, cancellation and operators; the whole machine."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from tests.property.model import ending, enqueueing, holding, owning
from tests.property.model.flows import BatchesMachine
from tests.property.model.machine import CRASHED, LEASES_S, OWN_IDS, PLACES, picks, who
from tests.property.model.names import GROUPS, TASKS, TENANT, group_of
from tests.property.model.process import FENCED, Life
from tests.property.model.records import Book, Place
from tests.property.model.space import read

GROUP_SETTINGS: dict[str, Any] = {
    "group": st.sampled_from(GROUPS),
    "most": st.sampled_from((None, None, 0, 1, 3)),
    "serial": st.sampled_from((None, False, True)),
    "weight": st.sampled_from((None, None, 1, 3)),
    "tier": st.sampled_from((None, None, None, produce.OWN_TIERS, 0, 1, 3)),
    "keep_s": st.sampled_from((0, 0, 0, 1500, 100_000)),
}


class PartitionMachine(BatchesMachine):
    """One partition on a real server, a model of it, and the processes that work on it."""

    @initialize()
    def begin(self) -> None:
        self.acquire("x", 600.0)

    @rule(nonce=st.sampled_from("xyz"), lease_s=st.sampled_from(LEASES_S))
    def acquire(self, nonce: str, lease_s: float) -> None:
        verb = own.acquire(0, nonce, lease_ms=int(lease_s * 1000), host="model")
        reply = self.run(verb)
        epoch = reply.ownership.epoch if isinstance(reply, own.Acquired) else 0
        got = owning.acquire(self.state, nonce, epoch, lease_s)
        assert got == isinstance(reply, own.Acquired), f"acquired by {nonce}: {reply}"
        if isinstance(reply, own.Acquired):
            assert epoch > self.newest_epoch, "I6: epochs grow, also across a failover"
            assert reply.epochs_to_recover == len(self.state.to_recover)
            assert reply.checkpoint == (self.state.checkpoint or (None,))[0]
            self.newest_epoch = epoch
            self.lives.append(Life(reply.ownership))

    @rule(back=who, lease_s=st.sampled_from(LEASES_S), skipped=st.sampled_from((0, 0, 1)))
    def renew(self, back: int, lease_s: float, skipped: int) -> None:
        life = self.life(back)
        life.beat += 1 + skipped
        applied = "{}-{}".format(*(self.state.commands or [(0, 0)])[-1])
        verb = own.renew(
            life.ownership,
            lease_ms=int(lease_s * 1000),
            beat=life.beat,
            workers=1,
            busy=1,
            target=1,
            applied=applied,
        )

        def expect(reply: own.Renewal) -> own.Renewal:
            who = (life.ownership.nonce, life.ownership.epoch)
            owner = self.state.owns(*who)
            forgot = owning.renew(
                self.state, *who, lease_s=lease_s, beat=life.beat, applied=applied
            )
            book = self.state.books.get(life.ownership.epoch, Book())
            asked = frozenset(i for i in book.order() if self.state.jobs[i].asked)
            assert (reply.draining, reply.rolled_back, reply.cancels) == (not owner, forgot, asked)
            assert reply.epochs_to_recover == (len(self.state.to_recover) if owner else 0)
            assert reply.commands == ()
            return reply

        self.as_owner(life, verb, expect)

    @rule(back=who, lease_s=st.sampled_from((0.0, *LEASES_S)))
    def release(self, back: int, lease_s: float) -> None:
        life = self.life(back)
        self.as_owner(
            life,
            own.release(life.ownership, drain_lease_ms=int(lease_s * 1000)),
            lambda _: owning.release(
                self.state, life.ownership.nonce, life.ownership.epoch, lease_s
            ),
        )

    @rule(back=who)
    def rotate_nonce(self, back: int) -> None:
        """A call was lost: the process goes on under a new nonce, the old one stays a zombie's."""
        life = self.life(back)
        old, new = life.ownership, life.ownership.rotated()
        stem, _, number = new.nonce.partition(".")

        reply = self.run(own.rotate_nonce(new))

        renewed = owning.rotate_nonce(self.state, stem, new.epoch, int(number))
        assert reply == (1 if renewed else FENCED)
        life.ownership = new
        self.lives.insert(max(0, len(self.lives) - 2), Life(old, life.beat, dict(life.bodies)))

    @rule(nonce=st.sampled_from("xyz"))
    def crash_and_take_over(self, nonce: str) -> None:
        self.pass_time(3)
        self.acquire(nonce, 600.0)

    @rule(back=who, max_crashes=st.sampled_from((3, 2, 1)))
    def recover_a_step(self, back: int, max_crashes: int) -> None:
        life = self.life(back)

        def expect(_: Any) -> own.Recovered:
            there = {e: [i for i, _ in book] for e, book in self.space.books.items()}
            return own.Recovered(
                *ending.recover(self.state, there, max_crashes=max_crashes, error=CRASHED)
            )

        verb = own.recover(life.ownership, max_crashes=max_crashes, error=CRASHED)
        self.as_owner(life, verb, expect, draining=False)

    @rule(back=who)
    def book(self, back: int) -> None:
        life = self.life(back)
        book = self.state.books.get(life.ownership.epoch)
        assert list(self.run(own.in_flight(life.ownership))) == (
            [*book.started, *book.waiting] if book else []
        )

    # Whoever cancels, operators, the leading coordinator

    def picked(self, pick: int) -> bytes:
        """Return a job to cancel: one that there is, or one that there may not be."""
        ids = [*sorted(self.state.jobs, reverse=True), *OWN_IDS]
        return ids[pick % len(ids)]

    @rule(pick=st.integers(0, 40))
    @precondition(lambda self: self.state.jobs)
    def cancel(self, pick: int) -> None:
        job_id = self.picked(pick)
        assert self.run(produce.cancel(job_id.decode())) == enqueueing.cancel(self.state, job_id)

    @rule(group=st.sampled_from(GROUPS))
    def cancel_group_a_step(self, group: bytes) -> None:
        cursor, seen = self.cursors.pop(group, (b"start", self.rollbacks))
        known = group in self.state.groups
        begins = cursor == b"start" or (known and self.state.groups[group].cut < 0)

        following, gone, asked = self.run(produce.cancel_group(group, cursor))

        if begins:
            enqueueing.cut_group(self.state, group)
        told = enqueueing.cancel_running(self.state, group) if known and not following else 0
        there = set(self.space.hash("j"))
        marks = set(self.space.hash("cx"))
        waiting = enqueueing.cancel_waiting(self.state, group, there, marks)
        assert (gone, asked) == (waiting, told)
        if following:
            self.cursors[group] = (following, seen)
        elif known and seen == self.rollbacks and group in self.state.groups:
            late = [*self.state.at(Place.DELAYED), *self.state.at(Place.PARKED)]
            left = [i for i in late if group_of(i) == group]
            assert not [i for i in left if self.state.covered(self.state.jobs[i])]

    @rule(group=st.sampled_from(GROUPS))
    def cancel_group_to_its_end(self, group: bytes) -> None:
        for _ in range(20):
            self.cancel_group_a_step(group)
            if group not in self.cursors:
                return
        raise AssertionError(f"the cancellation of {group!r} has no end")

    @rule(group=st.sampled_from(GROUPS), on=st.sampled_from((False, False, True)))
    def hold(self, group: bytes, on: bool) -> None:
        verb = produce.configure(group, hold=on)
        assert self.run(verb) == enqueueing.hold(self.state, group, on=on)

    @rule(**GROUP_SETTINGS)
    def configure(
        self,
        group: bytes,
        most: int | None,
        serial: bool | None,
        weight: int | None,
        tier: int | None,
        keep_s: int,
    ) -> None:
        verb = produce.configure(
            group,
            max_running=most,
            serial=serial,
            weight=weight,
            tier=tier,
            keep_ms=keep_s * 1000,
        )
        wishes = (most, serial, weight, tier, keep_s)
        promised = enqueueing.configure(self.state, group, *wishes)
        assert self.run(verb) == promised

    @rule(group=st.sampled_from(GROUPS))
    def follow_at_gates(self, group: bytes) -> None:
        cursor = self.run(produce.tier_at_gates(group))
        while cursor:
            cursor = self.run(produce.tier_at_gates(group, cursor))

    @rule(
        on=st.sampled_from((None, None, False, True)),
        most=st.sampled_from((None, None, 0, 1, 4)),
        weight=st.sampled_from((None, None, 1, 3)),
    )
    def configure_tenant(self, on: bool | None, most: int | None, weight: int | None) -> None:
        verb = tenants.configure(TENANT, hold=on, max_running=most, weight=weight)
        assert self.run(verb) == enqueueing.configure_tenant(self.state, TENANT, on, most, weight)

    @rule(task=st.sampled_from(TASKS), on=st.sampled_from((False, True)))
    def hold_a_task(self, task: str, on: bool) -> None:
        verb = produce.hold_task(task, on=on)
        assert self.run(verb) == holding.hold(self.state, task, on=on)

    @rule(on=st.sampled_from((False, False, False, True)))
    def hold_the_partition(self, on: bool) -> None:
        verb = produce.configure(None, hold=on)
        assert self.run(verb) == enqueueing.hold(self.state, None, on=on)

    @rule(picks=picks, verb=st.sampled_from((operate.replay, operate.discard)))
    @precondition(lambda self: self.state.jobs)
    def replay_or_discard(self, picks: list[int], verb: Any) -> None:
        dead = self.state.at(Place.DEAD) or sorted(self.state.jobs)
        ids = [dead[n % len(dead)] for n in picks]
        promised = getattr(enqueueing, verb.__name__)
        assert self.run(verb([i.decode() for i in ids])) == promised(self.state, ids)

    @rule(
        epoch=st.integers(1, 4),
        sequence=st.integers(0, 6),
        noop=st.booleans(),
        workers=st.integers(1, 9),
    )
    def command(self, epoch: int, sequence: int, noop: bool, workers: int) -> None:
        verb = lead.command(
            epoch,
            sequence,
            type="NOOP" if noop else "SCALE_UP",
            partition=0,
            target_workers=workers,
            reason="model",
            expires_ms=9,
        )
        reply = self.run(verb)
        assert reply == owning.command(self.state, epoch, sequence, target=workers, noop=noop)

    @rule(epoch=st.integers(1, 5), workers=st.integers(1, 9))
    def checkpoint(self, epoch: int, workers: int) -> None:
        assert self.run(lead.checkpoint(epoch, workers)) == owning.checkpoint(
            self.state, epoch, workers
        )

    @rule(repair=st.booleans())
    def audit(self, repair: bool) -> None:
        report = self.partition.audit(repair=repair)
        self.space = read(self.client, self.partition.key)
        assert report.clean, report

    @rule(pick=st.integers(0, 40), group=st.sampled_from(GROUPS))
    def look(self, pick: int, group: bytes) -> None:
        seen, s = self.partition.observe(), self.state
        booked = len(s.at(Place.BOOKED))
        assert seen.ready == tuple(0 if s.held else s.ready(t) for t in range(4))
        waiting = sum(holding.waits(s, s.jobs[i]) for i in s.at(Place.DELAYED))
        assert seen.held == s.kept(held=True) + (s.ready() if s.held else 0) + waiting
        assert seen.capped == s.kept(held=False)
        assert seen.parked == len(s.at(Place.PARKED))
        assert (seen.jobs, seen.delayed, seen.in_flight, seen.dead) == (
            len(s.jobs), len(s.at(Place.DELAYED)) - waiting, booked, len(s.at(Place.DEAD)),
        )  # fmt: skip
        if s.jobs:
            job_id = sorted(s.jobs)[pick % len(s.jobs)]
            status, job = self.partition.status(job_id.decode()), s.jobs[job_id]
            assert status.state is PLACES[job.place]
            assert (status.attempts, status.crashes) == (job.attempts, job.crashes or 0)
        status_of, known = self.partition.group(group), s.groups.get(group)
        if known:
            assert (status_of.total, status_of.done, status_of.dead) == (
                known.total, known.done, known.dead,
            )  # fmt: skip
            parked = [i for i in s.at(Place.PARKED) if s.jobs[i].group == group]
            assert status_of.parked == len(parked)
            assert (status_of.evicted, status_of.discarded) == (known.evicted, known.discarded)
            ended = status_of.done + status_of.cancelled + status_of.expired + status_of.died
            assert status_of.total == known.left + ended, "the states do not sum up"
