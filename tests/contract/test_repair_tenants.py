"""What a repair counts again of tenants, and how far it looks."""

from __future__ import annotations

from queuepool.routing.slots import group_of
from queuepool.verbs.producer import tenants
from tests.contract import world as w
from tests.contract.test_capped import configure
from tests.contract.test_hold import hold
from tests.contract.test_tenants import claimed, fill
from tests.contract.world import World


def calls(world: World, command: str) -> int:
    """Return how often a command was called since the statistics were reset."""
    return int(world.client.info("commandstats")[f"cmdstat_{command}"]["calls"])


def test_what_a_capped_group_lets_run_counts_for_its_tenant(world: World) -> None:
    fill(world, "t", 2, jobs=3)
    configure(world, group_of(b"k0", b"t"), max_running=2)

    assert world.partition.audit().clean
    assert world.partition.audit(repair=True).clean

    world.partition.run(tenants.configure(b"t", max_running=9))
    assert world.partition.observe().backlog == 5


def test_a_lost_job_of_a_tenant_stays_counted_when_it_is_put_back(server_world: World) -> None:
    fill(server_world, "t", 1, jobs=3)
    group = group_of(b"k0", b"t")
    server_world.client.lrem(server_world.partition.key + b":q:2:" + group, 1, "t-0-00000")

    found = server_world.partition.audit(repair=True)

    assert (found.orphan, found.miscounted) == (1, 0)
    assert server_world.partition.audit().clean
    assert claimed(server_world, 9) == {"t": 3}


def test_jobs_of_a_tenant_with_too_many_seats_to_read_are_not_counted_again(
    server_world: World,
) -> None:
    fill(server_world, "t", 1, jobs=3)
    ring = server_world.partition.key + b":tr:2:t"
    seats = [b"2%011x" % 1 + group_of(b"gone%d" % n, b"t") for n in range(1001)]
    server_world.client.rpush(ring, *seats)

    assert server_world.partition.audit(repair=True).clean

    server_world.client.ltrim(ring, 0, 0)
    assert server_world.partition.audit().clean


def test_an_audit_reads_a_bounded_number_of_seats_of_tenants(server_world: World) -> None:
    client, base = server_world.client, server_world.partition.key
    server_world.damaged = True
    for n in range(7):
        name = b"t%d" % n
        seats = [b"2%011x" % 1 + group_of(b"%d" % k, name) for k in range(900)]
        client.rpush(base + b":tr:2:" + name, *seats)
        client.rpush(base + b":ring:2", b"6%011x" % 1 + name)
    client.config_resetstat()

    server_world.partition.audit()

    assert calls(server_world, "lrange") == 5 + 4  # 3,600 seats; and what it always reads


def test_an_audit_reads_a_bounded_number_of_ids_of_tenants(server_world: World) -> None:
    client, base = server_world.client, server_world.partition.key
    server_world.damaged = True
    groups = [group_of(b"%d" % n, b"t") for n in range(13)]
    for group in groups:
        client.rpush(base + b":q:2:" + group, *w.names("mark", 1000))
        client.rpush(base + b":tr:2:t", b"2%011x" % 1 + group)
    client.rpush(base + b":ring:2", b"6%011xt" % 1)
    client.config_resetstat()

    server_world.partition.audit()

    assert 10_000 <= calls(server_world, "hexists") < 10_020


def test_ready_jobs_of_tenants_are_counted_again_beside_many_managed_groups(world: World) -> None:
    for n in range(201):
        w.enqueue(world, [f"held-{n}"], b"held-%d" % n, tier=3)
        hold(world, b"held-%d" % n)
    w.enqueue(world, w.names("plain", 600))
    for n in range(30):
        fill(world, f"t{n}", 1)
    w.miscount(world, 2, -100)

    world.partition.audit(repair=True)

    assert world.partition.observe().ready == (0, 0, 630, 0)


def test_a_bounded_tenant_starts_nothing_beside_running_jobs_that_were_not_counted(
    server_world: World,
) -> None:
    fill(server_world, "t", 5)
    server_world.partition.run(tenants.configure(b"t", max_running=2))
    assert claimed(server_world, 9) == {"t": 2}
    server_world.client.hset(server_world.partition.key + b":tn:t", "run", 0)

    assert server_world.partition.audit(repair=True).miscounted == 1

    state = server_world.partition.observe()
    assert (state.backlog, state.capped) == (0, 3)
    assert server_world.partition.audit().clean
