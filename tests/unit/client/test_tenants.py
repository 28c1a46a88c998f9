"""Whom a job belongs to: named by the caller, by the job, or by the key."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from queuepool import Job, JobContext, PoolConfig, Registry
from queuepool.client.routes import Routes
from queuepool.errors import ConfigurationError, InvalidInputError
from queuepool.models.jobs import group_text
from queuepool.models.tenants import key_in, tenant_of, tenant_text
from queuepool.routing.slots import group_of, slot_of
from queuepool.routing.topology import single
from queuepool.testing import MemoryPool, run_jobs

CONFIG = PoolConfig(topology=single("redis://localhost:6379/0", 4))
BY_KEY = replace(CONFIG, tenant_separator=":")


def pool_of(config: PoolConfig = CONFIG) -> tuple[MemoryPool, list[tuple[str | None, bytes]]]:
    registry, ran = Registry(), list[tuple[str | None, bytes]]()

    @registry.task
    def note(ctx: JobContext) -> None:
        ran.append((ctx.tenant, ctx.group))

    pool = MemoryPool(registry=registry, tenant_separator=config.tenant_separator)
    return pool, ran


def test_the_tenant_of_a_call_or_a_job_is_known_to_its_handler() -> None:
    pool, ran = pool_of()

    one = pool.enqueue("note", {}, partition_key="k", tenant="acme")
    pool.enqueue_many("note", [{}, Job({}, tenant="other")], partition_key="k", tenant="acme")
    pool.enqueue("note", {}, partition_key="k")

    assert one.job_status().tenant == "acme"
    assert [pool.group("k", tenant=t).status().total for t in ("acme", "other", None)] == [2, 1, 1]
    run_jobs(pool)
    assert Counter(ran) == {("acme", b"k"): 2, ("other", b"k"): 1, (None, b"k"): 1}


def test_the_asyncio_twin_takes_tenants_too() -> None:
    pool, ran = pool_of()

    async def enqueue() -> None:
        twin = pool.asyncio()
        await twin.enqueue("note", {}, partition_key="k", tenant="acme")
        await twin.enqueue_many("note", [{}], partition_key="k", tenant="acme")
        assert (await twin.group("k", tenant="acme").status()).total == 2

    asyncio.run(enqueue())
    run_jobs(pool)
    assert ran == [("acme", b"k")] * 2


def test_a_key_names_its_tenant_where_a_separator_is_set() -> None:
    pool, ran = pool_of(BY_KEY)

    for key in ("acme:42", "acme:42:x", "plain", ":x", "x:"):
        pool.enqueue("note", {}, partition_key=key)

    run_jobs(pool)
    assert set(ran) == {
        *((None, b"plain"), (None, b":x"), (None, b"x:")),
        *(("acme", b"42"), ("acme", b"42:x")),
    }
    assert pool.group("acme:42").status().done == 1
    assert pool.group("42", tenant="acme").status().done == 1


def test_a_tenant_moves_no_key_to_another_partition() -> None:
    """So that a queue can begin to name tenants while it has jobs."""
    plain, by_key = Routes(CONFIG).of("acme:42"), Routes(BY_KEY).of("acme:42")
    named = Routes(CONFIG).of("42", "acme")

    assert {r.partition for r in (plain, by_key, named)} == {slot_of(b"acme:42") % 4}
    assert named == by_key
    assert named.group == b"\xff\xffacme\xff42"
    assert (plain.group, plain.shift, named.shift) == (b"acme:42", 0, 4)


@pytest.mark.parametrize("key", ["k", "k" * 40, "k" * 41, "k" * 57, "k" * 5000])
def test_a_group_of_a_tenant_fits_whatever_the_key(key: str) -> None:
    tenant = "t" * 20

    route = Routes(CONFIG).of(key, tenant)

    assert len(route.group) <= 64
    assert tenant_of(route.group) == tenant.encode()
    assert (key_in(route.group) == key.encode()) == (route.key_text is None) == (len(key) <= 41)
    assert route.group != Routes(CONFIG).of(key + "x", tenant).group


@pytest.mark.parametrize("key", [b"\xff\xffacme\xffk", b"\xff\xff\xc3\xff\xff\xff"])
def test_no_key_of_its_own_is_a_group_of_a_tenant(key: bytes) -> None:
    group = group_of(key)

    assert (tenant_of(group), len(group)) == (None, 16)
    assert Routes(CONFIG).of(key).shift == 0


@pytest.mark.parametrize(
    "key", [b"\xff\xff", b"\xff\xff\xff\xff", b"\xff\xffx\xff", b"\x00\xff\x00"]
)
def test_other_keys_of_bytes_stay_as_they_are(key: bytes) -> None:
    assert (group_of(key), tenant_of(key), key_in(key)) == (key, None, key)


@pytest.mark.parametrize("tenant", ["", "t" * 41, "å" * 21, "a\nb", " a", 7, b"t", "\ud800"])
def test_a_name_that_no_tenant_can_have_is_refused(tenant: object) -> None:
    pool, _ = pool_of()

    with pytest.raises(InvalidInputError, match="tenant="):
        pool.enqueue("note", {}, partition_key="k", tenant=tenant)  # type: ignore[call-overload]


@pytest.mark.parametrize("key", ["t" * 41 + ":k", "a\nb:k", b"\xff:k"])
def test_a_key_that_names_no_possible_tenant_is_refused(key: str | bytes) -> None:
    with pytest.raises(InvalidInputError, match="QUEUEPOOL_TENANT_SEPARATOR"):
        Routes(BY_KEY).of(key)


@pytest.mark.parametrize("separator", ["123456789", "\n"])
def test_a_separator_that_is_none_is_refused(separator: str) -> None:
    with pytest.raises(ConfigurationError, match="QUEUEPOOL_TENANT_SEPARATOR"):
        replace(CONFIG, tenant_separator=separator)


def test_a_dead_job_is_listed_with_its_tenant_and_its_key() -> None:
    registry = Registry()

    @registry.task(max_attempts=1)
    def fail() -> None:
        raise RuntimeError

    pool = MemoryPool(registry=registry)
    for key in ("k", "k" * 100):
        pool.enqueue("fail", {}, partition_key=key, tenant="acme")
    run_jobs(pool)

    found = sorted((d.tenant, d.key) for p in pool.partitions() for d in p.dead())
    assert found == [("acme", "k"), ("acme", "k" * 100)]


def test_a_group_is_shown_with_its_tenant() -> None:
    group = group_of(b"42", "åcme".encode())

    assert (group_text(group), tenant_text(group)) == ("åcme:42", "åcme")
