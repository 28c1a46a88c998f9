"""A batch as a tree: what is in it is read level by level, in few calls, and in bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queuepool import Registry
from queuepool.models.flows import BatchTree
from queuepool.protocol.batches import home_of_batch
from queuepool.testing import MemoryPool
from queuepool.verbs import Verb
from queuepool.verbs.flows import verbs as flow

PARTITIONS = 4
HINTS = ("AA", "gA", "AB", "gB")


def _name(number: int) -> str:
    return f"{HINTS[number % len(HINTS)]}{number:012}"


class World:
    """A pool with batches in batches. calls: about batches, since they were made."""

    def __init__(self, inner: Mapping[int, Sequence[int]]) -> None:
        self.pool = MemoryPool(PARTITIONS, registry=Registry())
        for number, children in inner.items():
            for verb in _verbs(number, children):
                self._partition(number).run(verb)
        self.calls = 0
        self._plain = self.pool.server.run
        self.pool.server.run = self._run  # type: ignore[method-assign]

    def _partition(self, number: int) -> Any:
        slot, _pool = home_of_batch(_name(number))
        return self.pool.partition(self.pool.config.topology.view.place_of_slot(slot))

    def _run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
        self.calls += any(verb.script == "batch" for verb in verbs)
        return self._plain(key, verbs)

    def tree(self) -> BatchTree:
        return self.pool.batch(_name(0)).tree()


def _verbs(number: int, children: Sequence[int]) -> list[Verb[Any]]:
    name, day_ms = _name(number), 86_400_000
    ways: Any = {"on_failure": "fail", "on_deadline": "fail"}
    opened = flow.open_batch(name, name, deadline_ms=day_ms, keep_ms=day_ms, **ways)
    grown = (
        flow.grow_batch(name, f"0:{n}", 1, inner=_name(child)) for n, child in enumerate(children)
    )
    return [opened, flow.seal_batch(name, 1), *grown]


def _numbers(tree: BatchTree) -> Any:
    return int(tree.status.name[2:]), [_numbers(each) for each in tree.inner]


def _size(tree: BatchTree) -> int:
    return 1 + sum(map(_size, tree.inner))


def _depth(tree: BatchTree) -> int:
    return 1 + max(map(_depth, tree.inner), default=0)


def test_a_tree_has_each_batch_where_it_is() -> None:
    world = World({0: [4, 8], 4: [12], 8: [16, 20], 12: [], 16: [24], 20: [], 24: []})

    assert _numbers(world.tree()) == (
        0,
        [(4, [(12, [])]), (8, [(16, [(24, [])]), (20, [])])],
    )


def test_a_wide_tree_takes_few_calls() -> None:
    world = World({0: range(1, 97), **{n: [n + 100] for n in range(1, 97)}})

    assert _size(world.tree()) == 1 + 96 + 96
    assert world.calls <= 1 + 2 * PARTITIONS


def test_a_tree_has_bounds() -> None:
    deep = World({n: [n + 1] for n in range(40)})
    assert _depth(deep.tree()) == 21

    wide = World({0: range(1, 91), **{n: range(n * 100, n * 100 + 50) for n in range(1, 91)}})
    assert _size(wide.tree()) == 1001


def test_what_is_stored_in_a_circle_is_there_once() -> None:
    world = World({0: [1, 2], 1: [0, 2], 2: [1]})

    assert _numbers(world.tree()) == (0, [(2, []), (1, [])])  # by name
