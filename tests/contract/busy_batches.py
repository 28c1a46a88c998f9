"""Batches of a busy partition, and every verb of batches with work to do on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queuepool.partitions.partition import OwnedPartition
from queuepool.protocol import codec
from queuepool.verbs import Verb
from queuepool.verbs.flows import telling
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.moves import batches as carry
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.world import World

GOES_ON, COMPLETE, LATE, OLD = (f"AA{name:b>12}" for name in ("on", "complete", "late", "old"))
STEP, GATE, FROZEN = (f"AA{name:b>12}" for name in ("step", "gate", "frozen"))
DAY_MS = 86_400_000
_ENDS = (b"d", b"x", b"r", b"c")


def fill(world: World, owned: OwnedPartition, group: bytes) -> None:
    """One batch goes on, one is complete, one is late, one is to be forgotten."""
    for name, deadline_ms in ((GOES_ON, DAY_MS), (COMPLETE, DAY_MS), (LATE, 0), (OLD, DAY_MS)):
        world.partition.run(_open(name, deadline_ms))
        if name != OLD:
            w.enqueue(world, [name], group, delay_ms=DAY_MS)
    w.enqueue(world, [_child(GOES_ON, n) for n in range(4)], group)
    claims = w.claim(owned, starting=0)
    assert len(claims.ids) == 4
    stamp = codec.read_stamp(claims.bodies[0])
    owned.run(own.finish_stray(owned.ownership, [(claims.ids[0], stamp, 0, b"1")]))
    w.retry(owned, [claims.ids[1]], delay_ms=DAY_MS)
    world.partition.run(flow.seal_batch(GOES_ON, 4))
    world.partition.run(flow.seal_batch(COMPLETE, 1))
    world.partition.run(flow.grow_batch(GOES_ON, "0:0", 2))
    told = [(name, 0, b"d", b"0" * 11, b"1") for name in (COMPLETE, OLD)]
    told += [(OLD, 200, b"d", b"0" * 11, b"1")]
    world.partition.run(telling.note_ends([*told, (LATE, 0, b"x", b"0" * 11, b"{}")]))
    world.partition.run(flow.cancel_batch(OLD))
    world.partition.run(_open(STEP, DAY_MS, part="s", tells=[f"{GATE}~0"]))
    world.partition.run(_open(GATE, DAY_MS, part="g"))
    world.partition.run(_open(FROZEN, DAY_MS))
    world.partition.run(carry.freeze_batches(1, [FROZEN]))


def of_producers() -> list[Verb[Any]]:
    """Return what applications and operators call."""
    return [
        _open("AAnew", DAY_MS),
        _open(GOES_ON, DAY_MS),
        _open("AAstep", DAY_MS, part="s", tells=[f"{GATE}~0"]),
        flow.seal_batch(STEP, 1),
        flow.batch(STEP),
        flow.batch_results(GATE, 0),
        flow.seal_batch(LATE, 1),
        flow.seal_batch(COMPLETE, 1),
        flow.grow_batch(GOES_ON, "0:1", 2),
        flow.grow_batch(GOES_ON, "0:0", 2),  # again
        flow.batch(GOES_ON),
        flow.batches(0, 10),
        flow.batch_results(COMPLETE, 0),
        flow.batch_results(LATE, 0),
        flow.cancel_batch(GOES_ON),
        flow.cancel_children([GOES_ON], b"0", 10_000),
        flow.cancel_children([GOES_ON, COMPLETE], b"0", 10_000),
    ]


def of_owners(ownership: own.Ownership, stale: own.Ownership) -> list[Verb[Any]]:
    """Return what consumers call."""
    told = [
        (name, n, end, b"f" * 11, b"1") for name in (GOES_ON, LATE, STEP) for n, end in _numbered()
    ]
    return [
        telling.note_ends(told),
        telling.untold(ownership),
        telling.untold(ownership, told=[b"1-1"]),
        telling.untold(stale),
        telling.tend_batches(ownership),
        telling.tend_batches(stale),
    ]


def of_moves() -> list[Verb[Any]]:
    """Return what the leader calls that moves them. They are thawed by its last call."""
    pages = [(b"b", b"0", b"called", b"t"), (b"s", b"0", b"\xff"), (b"f", b"0", b"3", b"x" * 23)]
    pages += [(b"r", b"0", *(b"0", b"1", b"4", b"5"), *(b"1", b"1", b"130", b"5"))]
    return [
        carry.batches(),
        carry.freeze_batches(1, [GOES_ON, LATE, "AAunknown"]),
        *(carry.export_batch(1, GOES_ON, cursor) for cursor in (b"", b"s0", b"f0")),
        carry.export_batch(1, COMPLETE, b"r0"),
        *(carry.adopt_batch(1, GOES_ON, carry.Page(b"", (0, *page))) for page in pages),
        *(carry.drop_batch(1, name) for name in (LATE, OLD, COMPLETE)),
        carry.drop_batch(1, "AAunknown"),
    ]


def _numbered() -> Sequence[tuple[int, bytes]]:
    return list(enumerate(_ENDS))


def _child(batch: str, number: int) -> str:
    return f"CC{batch}~{number}"


def _open(name: str, deadline_ms: int, **of_flow: Any) -> Verb[Any]:
    return flow.open_batch(
        name,
        name,
        on_failure="fail",
        on_deadline="fail",
        deadline_ms=deadline_ms,
        keep_ms=0,
        called="t",
        **of_flow,
    )
