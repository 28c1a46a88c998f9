"""Two partitions of one server, each with its own model, and people who know an older route or not.

Owners, producers and operators act as in the other machines, at one of the partitions at a time:
people where the record says that a group is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from queuepool.errors import MovedError
from queuepool.partitions.partition import Partition
from queuepool.verbs import Verb
from queuepool.verbs.producer import verbs as produce
from tests.property.model import moves
from tests.property.model.enqueueing import Run
from tests.property.model.ledger import Ledger
from tests.property.model.machine import OWN_IDS, picks, tiers
from tests.property.model.names import GROUPS, group_of, slot_of
from tests.property.model.process import call, enqueue_verb
from tests.property.model.routes import Record, routed
from tests.property.model.rules import GROUP_SETTINGS, PartitionMachine
from tests.property.model.space import Space, read
from tests.property.model.state import State

SLOTS = sorted(set(map(slot_of, GROUPS)))
# Batches, what would have the record go back as well, and what other machines do often enough
_LEFT_OUT = (
    *("enqueue_batch", "seal", "tell_batches", "tend_batches", "run_batch", "cancel_batches"),
    *("look_at_batch", "replicate", "fail_over", "forget_scripts", "look", "look_at_gates"),
    *("command", "checkpoint", "rotate_nonce", "follow_at_gates", "claim_of_serial_groups"),
    *("enqueue_bulk_with_limits", "renew", "book", "hold_the_partition"),
    *("enqueue_where_room_is_short", "claim_what_came_back"),
)


class PairMachine(PartitionMachine):
    """Acts at one of the partitions at a time."""

    def __init__(self) -> None:
        super().__init__()
        key = self.keyspace.partition(1)
        self.at = 0
        self.there: dict[str, Any] = {
            "partition": Partition(1, key, self.server),
            "state": State(),
            "space": Space(),
            "lives": [],
            "newest_epoch": 0,
            "cursors": {},
        }
        self.record = Record(1, {slot: slot % 2 for slot in SLOTS})
        self.views = [self.record]  # what someone may still know
        self.by = 0  # the version of who acts; 0: the newest
        self.ledger = Ledger()

    @initialize()
    def begin(self) -> None:
        for place in (1, 0):
            self.turn_to(place)
            self.acquire("x", 600.0)

    def teardown(self) -> None:
        for key in self.client.keys(self.there["partition"].key + b":*"):
            self.client.delete(key)
        super().teardown()

    # Both partitions share the clock, and the numbers of calls and of births

    def turn_to(self, place: int) -> None:
        if place == self.at:
            return
        calls, births, self.at = self.state.call, self.state.births, place
        here = {name: getattr(self, name) for name in self.there}
        for name, value in self.there.items():
            setattr(self, name, value)
        self.there = here
        self.state.call, self.state.births = calls, births
        self.space = read(self.client, self.partition.key)

    def run(self, verb: Verb[Any]) -> Any:
        reply = super().run(routed(verb, self.by or self.record.version))
        known = verb.script == "configure" and verb.args[0] and reply is not None
        if known and self.state.shut:
            self.state.configured.add(bytes(verb.args[0]))  # type: ignore[arg-type]
        return reply

    @rule()
    def turn_to_the_other(self) -> None:
        self.turn_to(1 - self.at)

    @rule(steps=st.sampled_from((1, 2)))
    def pass_time(self, steps: int) -> None:
        away = self.on_their_way()
        for place in (1 - self.at, self.at):
            self.turn_to(place)
            totals = {name: group.total for name, group in self.state.groups.items()}
            super().pass_time(steps)
            for name in totals.keys() - self.state.groups.keys():
                self.ledger.forgot(name, totals[name], on_its_way=name in away)

    def states(self) -> tuple[State, State]:
        return self.state, self.there["state"]

    def on_their_way(self) -> set[bytes]:
        """Return the groups that are frozen somewhere, or whose slots are closed."""
        frozen = {n for s in self.states() for n, g in s.groups.items() if g.moving is not None}
        return frozen | {group for group in GROUPS if slot_of(group) in self.record.closed}

    @rule(limit=st.sampled_from((3, 25)), picks=picks)
    def claim_and_bury(self, limit: int, picks: list[int]) -> None:
        """There are dead jobs more often than `bury` alone makes them."""
        self.claim(0, limit, 0, (6, 3, 2, 1))
        self.bury(0, picks, 1000, 10**6)

    # People who know the record, or an older one

    def go_home(self, group: bytes) -> bool:
        """Turn to where a group is; return False if its slot is closed, so that people wait."""
        if slot_of(group) in self.record.closed:
            return False
        self.turn_to(self.record.homes[slot_of(group)])
        return True

    def enqueue(
        self,
        ids: Sequence[bytes],
        tier: int,
        delay: int,
        room: int,
        *,
        gates: Mapping[bytes, bytes] = MappingProxyType({}),
        **wishes: Any,
    ) -> None:
        for place in (0, 1):
            mine = [i for i in ids if self._home(i) == place]
            if mine:
                self.turn_to(place)
                chosen = {i: gate for i, gate in gates.items() if i in mine}
                super().enqueue(mine, tier, delay, room, gates=chosen, **wishes)

    def _home(self, job_id: bytes) -> int | None:
        slot = slot_of(group_of(job_id))
        return None if slot in self.record.closed else self.record.homes[slot]

    @rule(back=st.integers(0, 12), count=st.integers(1, 4), tier=tiers, what=st.integers(0, 3))
    def act_by_an_old_route(self, back: int, count: int, tier: int, what: int) -> None:
        """M5: it reaches the place where the group belongs, or is turned away, or waits."""
        view = self.views[-1 - back % len(self.views)]
        ids = self.new_ids(count)
        group = group_of(ids[0])
        if slot_of(group) in view.closed:
            return
        self.turn_to(view.homes[slot_of(group)])
        older = view.version < self.state.route
        if not older or (what == 0 and moves.will_do(self.state, view.version, slot_of(group))):
            assert self.record.homes[slot_of(group)] == self.at, (
                f"M5: {view} leads to {self.at}, which accepts {self.state.route}: {self.record}"
            )
            known = self.state.groups.get(group)
            assert known is None or not known.closed, f"M2: {view} adds to {group!r}, which leaves"
            self.by = view.version
            super().enqueue([i for i in ids if group_of(i) == group], tier, 0, 1000)
            self.by = 0
            return
        run = Run(tier, group, 0, tuple(i for i in ids if group_of(i) == group))
        verbs: list[Verb[Any]] = [
            enqueue_verb([run], max_depth=10**6),
            produce.configure(group, hold=True, keep_ms=10**6),
            produce.cancel_group(group, b"start"),
            produce.cancel(OWN_IDS[count].decode()),
        ]
        assert self.refused(routed(verbs[what], view.version)), f"M5: {view} was accepted"

    def refused(self, verb: Verb[Any]) -> bool:
        """Make a call; return whether it was turned away, by the version that there is."""
        try:
            call(self.partition, verb)
        except MovedError as error:
            return error.version == self.state.route
        finally:
            self.space = read(self.client, self.partition.key)
        return False

    @rule(pick=st.integers(0, 40))
    @precondition(lambda self: self.state.jobs)
    def cancel(self, pick: int) -> None:
        if slot_of(group_of(self.picked(pick))) not in self.record.closed:
            super().cancel(pick)

    @rule(group=st.sampled_from(GROUPS))
    def cancel_group_a_step(self, group: bytes) -> None:
        if self.go_home(group):
            super().cancel_group_a_step(group)

    @rule(group=st.sampled_from(GROUPS))
    def cancel_group_to_its_end(self, group: bytes) -> None:
        if self.go_home(group):
            super().cancel_group_to_its_end(group)

    @rule(group=st.sampled_from(GROUPS), on=st.sampled_from((False, False, True)))
    def hold(self, group: bytes, on: bool) -> None:
        if self.go_home(group):
            super().hold(group, on)

    @rule(**GROUP_SETTINGS)
    def configure(self, group: bytes, **settings: Any) -> None:
        if self.go_home(group):
            super().configure(group, **settings)


for _name in _LEFT_OUT:
    setattr(PairMachine, _name, None)
