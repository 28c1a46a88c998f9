"""Looks of operators: each ends in time, whatever it is looking for, and leaves no step running."""

from __future__ import annotations

import pytest

from coordinator.api import inspecting
from coordinator.api.inspecting import Inspection
from queuepool.models.groups import GroupOrder
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.testing import MemoryPool


def test_a_look_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = MemoryPool(2)
    look = Inspection(pool)
    assert look.jobs(api.FindJobsRequest(), 10) == ([], "")

    monkeypatch.setattr(inspecting, "_LOOK_S", 0.0)

    with pytest.raises(TimeoutError):
        look.jobs(api.FindJobsRequest(), 10)
    with pytest.raises(TimeoutError):
        look.errors("", 10, None)
    assert look.schedules("", "", 10) == ([], "")  # one call


@pytest.mark.parametrize("size", [1, 3, 5])
def test_pages_of_groups_have_each_once(size: int) -> None:
    pool, found, token = MemoryPool(3), list[bytes](), ""
    for n in range(5):
        pool.enqueue_many("t", [{}] * (n + 1), partition_key=f"g{n}")

    while True:
        request = api.ListGroupsRequest()
        groups, token = Inspection(pool).groups(
            GroupOrder.SIZE, token, size, None, request.pool or None
        )
        found += [one.group for one in groups]
        if not token:
            break

    assert found == [b"g4", b"g3", b"g2", b"g1", b"g0"]
