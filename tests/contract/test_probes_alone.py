"""As test_probes, with one rare thing at a time: no other one looks at the keys that it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from queuepool.partitions.partition import OwnedPartition
from queuepool.routing.slots import group_of
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.owner.gates import admit
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.test_probes import Monitor
from tests.contract.world import World

OF_TENANT = group_of(b"g", b"tenant")
FULL: dict[str, Any] = {"configured": {"weight": 2}, "bounded": {"max_running": 1}}
RARE: dict[str, dict[str, Any]] = {  # what each is enqueued with; settings, of any kind
    "nothing": {},
    "a mark": {"cancelled": ["j00003"]},
    "a held task": {"held": "t"},
    "an expiry": {"expires_ms": 1},
    "a unique key": {"unique": {0: b"key"}, "until": b"s"},
    "a limit": {"limits": b"mail"},
    "a serial group": {"configured": {"serial": True}},
    "a weight": {"configured": {"weight": 2}},
    "a tier of a group": {"configured": {"tier": 0}},
    "a cap of a tenant": {"bounded": {"max_running": 1}},
    "a held task, and no room": {"held": "t"} | FULL,
    "an expiry, and no room": {"expires_ms": 1} | FULL,
    "a limit, and no room": {"limits": b"mail"} | FULL,
}


def enqueue(
    world: World,
    group: bytes,
    *,
    cancelled: Sequence[str] = (),
    held: str = "",
    configured: dict[str, Any] | None = None,
    bounded: dict[str, Any] | None = None,
    **options: Any,
) -> None:
    w.enqueue(world, w.names("j", 4), group, tier=1, **options)
    for job_id in cancelled:
        world.partition.cancel(job_id)
    if held:
        world.partition.run(produce.hold_task(held, on=True))
    if configured:
        world.partition.run(produce.configure(group, **configured))
    if bounded:
        world.partition.run(tenants.configure(b"tenant", **bounded))
    world.advance(1)


def life(owned: OwnedPartition) -> list[Callable[[], Any]]:
    """Return what an owner does in turn; each job starts, comes back in each way, and ends."""
    taken: list[bytes] = []
    told = b'{"reason":"failed"}'

    def claim() -> None:
        taken[:] = w.claim(owned).ids

    def run(verb: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[[], Any]:
        return lambda: owned.run(verb(owned.ownership, *args, **kwargs))

    def of_taken(verb: Callable[..., Any]) -> Callable[[], Any]:
        return lambda: taken and owned.run(verb(owned.ownership, taken))

    def back(ownership: own.Ownership, ids: list[bytes]) -> Any:
        return own.retry(ownership, [(i, 0, True, told) for i in ids])

    def over(ownership: own.Ownership, ids: list[bytes]) -> Any:
        return own.bury(ownership, [(i, told) for i in ids], **w.KEEP)

    released = partial(owned.run, produce.hold_task("t", on=False))
    ready = [run(admit, "mail", 9, most_waiting=9), claim]
    return [
        *(claim, released, claim, run(own.rouse, b"0", []), run(own.promote)),
        *(*ready, of_taken(own.hand_back)),
        *(*ready, of_taken(back), run(own.promote)),
        *(*ready, of_taken(over), *ready),
    ]


@pytest.mark.parametrize("group", [b"plain", OF_TENANT])
@pytest.mark.parametrize("rare", RARE)
def test_no_script_touches_a_key_first_after_it_wrote(
    server_world: World, rare: str, group: bytes
) -> None:
    monitor, owned = Monitor(server_world.client), server_world.own()
    enqueue(server_world, group, **RARE[rare])
    late = set()

    for step in life(owned):
        for call in monitor.calls(step):
            late |= set(monitor.late(call))

    assert not late, "\n".join(sorted(late))
