"""Seeds with extras: a product that breaks one of their rules does not get through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queuepool.testing import managing
from queuepool.testing.accepting import Accept
from queuepool.testing.data import PartitionData
from queuepool.testing.groups import ANY, Group
from queuepool.testing.tenants import Tenant
from queuepool.testing.wishes import Wishes
from tests.sampling import first_of
from tests.simulation.extras import TENANT
from tests.simulation.scenario import Faults, draw
from tests.simulation.simulation import simulate

MOST_SEEDS = 300
SLOW_DRAINS = {
    "faults": Faults(drains=(1.0, 3.0, 5.0, 7.0, 9.0, 11.0)),
    "job_s": (0.5, 3.0),
    "drain_s": 5.0,
    "consumers": 2,
}
Patch = pytest.MonkeyPatch


def seeds() -> Iterator[int]:
    """Yield the seeds that have extras."""
    return (seed for seed in range(MOST_SEEDS) if draw(seed).extras is not None)


def test_the_seeds_meet_all_that_jobs_and_groups_may_ask_for() -> None:
    met: set[str] = set()
    settings: set[str] = set()

    for seed in list(seeds())[:20]:
        result = simulate(seed)
        met |= result.journal.seen.keys()
        changes = result.scenario.extras.changes  # type: ignore[union-attr]  # these have some
        settings |= {name for change in changes for name in change.settings}
        settings |= {"partition" for change in changes if change.target is None}
        settings |= {TENANT for change in changes if change.target == TENANT}

    assert met >= {"conflict", "replaced", "expired", "freed at its start"}
    assert settings == {"hold", "serial", "max_running", "weight", "partition", TENANT}


def no_caps(patch: Patch) -> None:
    room = Group.room

    def any_number(self: Group, delayed: Any) -> int:
        most, self.most = self.most, 0
        try:
            return room(self, delayed)
        finally:
            self.most = most

    patch.setattr(Group, "room", any_number)


def no_holds(of: type[Group] | type[Tenant]) -> Callable[[Patch], None]:
    room: Callable[[Any, Any], int] = of.room

    def as_if_released(self: Any, known: Any) -> int:
        hold, self.hold = self.hold, 0
        try:
            return room(self, known)
        finally:
            self.hold = hold

    return lambda patch: patch.setattr(of, "room", as_if_released)


def no_caps_of_tenants(patch: Patch) -> None:
    room = Tenant.room

    def any_number(self: Tenant, running: int) -> int:
        return ANY if room(self, running) or not self.hold else 0

    patch.setattr(Tenant, "room", any_number)


def no_partition_holds(patch: Patch) -> None:
    patch.setattr(managing, "_hold_partition", lambda _p, *, on: int(on))


def caps_of_one_owner_alone(patch: Patch) -> None:
    tune = PartitionData.tune

    def forgetful(self: PartitionData, name: bytes, *, owning: bool = False) -> int:
        group = self.groups.get(name)
        mine = self.owner.epoch if self.owner is not None and self.owner.nonce else 0
        others = [i for e in self.books if e != mine for _, i in self.books[e].entries()]
        ours = [i for i in others if i in self.jobs and self.group_of(self.jobs[i]) is group]
        if group is None or group.left <= len(ours):
            return tune(self, name, owning=owning)
        group.left -= len(ours)
        try:
            return tune(self, name, owning=owning)
        finally:
            group.left += len(ours)

    patch.setattr(PartitionData, "tune", forgetful)


def no_wait_for_retries(patch: Patch) -> None:
    room = Group.room

    def impatient(self: Group, delayed: Any) -> int:
        self.next_id = None
        return room(self, delayed)

    patch.setattr(Group, "room", impatient)


def all_to_the_back(patch: Patch) -> None:
    place = PartitionData.place

    def back(self: PartitionData, job_id: bytes, lane: Any, **_how: bool) -> None:
        place(self, job_id, lane)

    patch.setattr(PartitionData, "place", back)


def no_unique_keys(patch: Patch) -> None:
    patch.setattr(Wishes, "holder_of", lambda *_: None)


def keys_are_kept(patch: Patch) -> None:
    patch.setattr(Wishes, "let_go", lambda *_args, **_how: None)
    patch.setattr(Accept, "_replace", lambda *_: False)
    patch.setattr(Wishes, "holder_of", lambda self, key, *_: self.holders.get(key))


def keys_are_kept_at_the_start(patch: Patch) -> None:
    patch.setattr(Wishes, "note_start", lambda self, job_id: self.expire_ms.pop(job_id, None))


def keys_are_lost_at_a_start(patch: Patch) -> None:
    note_start = Wishes.note_start

    def loses(self: Wishes, job_id: bytes) -> None:
        note_start(self, job_id)
        self.holders.pop(self.keys.get(job_id, b"")[1:], None)

    patch.setattr(Wishes, "note_start", loses)


def nothing_expires(patch: Patch) -> None:
    class Deaf(dict[bytes, int]):
        def get(self, _key: bytes, default: Any = None) -> Any:
            return default

    init: Callable[..., None] = Wishes.__init__

    def deaf(self: Wishes, *args: Any, **named: Any) -> None:
        init(self, *args, **named)
        self.expire_ms = Deaf()

    patch.setattr(Wishes, "__init__", deaf)


def what_started_expires(patch: Patch) -> None:
    patch.setattr(Wishes, "note_start", lambda *_: None)


def expired_jobs_count_twice(patch: Patch) -> None:
    end = PartitionData.end_expired

    def twice(self: PartitionData, job_id: bytes, body: bytes) -> None:
        end(self, job_id, body)
        self.count("expired")

    patch.setattr(PartitionData, "end_expired", twice)


@pytest.mark.parametrize(
    ("breaks", "words", "changes"),
    first_of(
        [
            (no_caps, "jobs in flight", {}),
            (no_holds(Group), "I19", {}),
            (no_caps_of_tenants, "b'acme' has", {}),
            (no_holds(Tenant), "I19", {}),
            (no_partition_holds, "I19", {}),
            (caps_of_one_owner_alone, "jobs in flight", SLOW_DRAINS),
            (no_wait_for_retries, "overtook", {}),
            (all_to_the_back, "overtook", {}),
            (no_unique_keys, "I14", {}),
            (keys_are_kept, "which has not its key", {}),
            (keys_are_kept_at_the_start, "which has not its key", {}),
            (keys_are_lost_at_a_start, "was accepted while", {}),
            (nothing_expires, "late", {}),
            (what_started_expires, "it had begun", {}),
            (expired_jobs_count_twice, "are counted as expired", {}),
        ]
    ),
)
def test_a_broken_rule_is_found(
    breaks: Callable[[Patch], None], words: str, changes: dict[str, Any], monkeypatch: Patch
) -> None:
    breaks(monkeypatch)

    assert any(words in wrong for seed in seeds() for wrong in simulate(seed, **changes).violations)
