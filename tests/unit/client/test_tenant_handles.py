"""A tenant in all partitions: its weight, its hold, what it has."""

from __future__ import annotations

import asyncio

import pytest

from queuepool import Registry
from queuepool.errors import InvalidInputError
from queuepool.models import TenantStatus
from queuepool.testing import MemoryPool, run_jobs


@pytest.fixture
def pool() -> MemoryPool:
    registry = Registry()

    @registry.task
    def note() -> None:
        """Do nothing."""

    pool = MemoryPool(4, registry=registry)
    for n in range(20):
        pool.enqueue("note", {}, partition_key=f"k{n}", tenant="acme")
    return pool


def test_a_hold_covers_all_partitions(pool: MemoryPool) -> None:
    tenant = pool.tenant("acme")

    assert (tenant.hold(), tenant.hold()) == (True, False)
    pool.enqueue("note", {}, partition_key="k", tenant="acme")
    assert run_jobs(pool).done == 0
    assert tenant.status().held_ms is not None
    assert (tenant.release(), tenant.release()) == (True, False)
    assert run_jobs(pool).done == 21


def test_a_weight_covers_all_partitions(pool: MemoryPool) -> None:
    tenant = pool.tenant("acme")

    assert (tenant.configure(weight=3), tenant.configure(weight=3)) == (True, False)
    assert tenant.status() == TenantStatus(ready=20, groups=20, weight=3)
    assert pool.tenant("other").status() == TenantStatus(ready=0, groups=0)
    assert repr(tenant) == "Tenant('acme')"


def test_the_asyncio_twin_does_the_same(pool: MemoryPool) -> None:
    async def use() -> None:
        tenant = pool.asyncio().tenant("acme")
        assert await tenant.configure(weight=2)
        assert await tenant.hold()
        assert (await tenant.status()).weight == 2
        assert await tenant.release()

    asyncio.run(use())
    assert pool.tenant("acme").status() == TenantStatus(ready=20, groups=20, weight=2)


@pytest.mark.parametrize("weight", [0, 101, True, "3"])
def test_a_weight_that_is_none_is_refused(pool: MemoryPool, weight: object) -> None:
    with pytest.raises(InvalidInputError, match="weight="):
        pool.tenant("acme").configure(weight=weight)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "t" * 41, " a"])
def test_a_name_that_no_tenant_can_have_is_refused(pool: MemoryPool, name: str) -> None:
    with pytest.raises(InvalidInputError, match="tenant="):
        pool.tenant(name)
