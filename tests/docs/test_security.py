"""What docs/security.md says about rights is so."""

from pathlib import Path

import redis

from queuepool import QueuePool
from queuepool.cli.commands.acl import ADMIN, variable
from queuepool.process.embedded import EmbeddedServer
from queuepool.protocol.keys import Keyspace
from queuepool.verbs.acl import ROLES
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.owner import verbs as own
from tests.paths import ROOT

PAGE = ROOT / "docs" / "security.md"


def granted() -> list[str]:
    """Return the words of a rule for one user who may do everything, after its name."""
    return ["on", ">PASSWORD", *ROLES["ops"].rules(Keyspace())]


def test_the_page_names_every_role_and_where_its_password_comes_from() -> None:
    text = PAGE.read_text()

    assert all(f"| `{role}` |" in text for role in ROLES)
    assert all(f"`{variable(role)}`" in text for role in (*ROLES, ADMIN))


def test_a_job_lives_its_life_under_these_rights(engine_binary: Path) -> None:
    with EmbeddedServer(binary=engine_binary) as server:
        with redis.Redis.from_url(server.url) as admin:
            admin.execute_command("ACL", "SETUSER", "queuepool", *granted())
        url = server.url.replace("redis://", "redis://queuepool:PASSWORD@")
        with QueuePool(url, partitions=1) as pool:
            partition = pool.partition(0)
            job = pool.enqueue("t", {}, partition_key="k")
            pool.enqueue("t", {}, partition_key="k", delay_s=60)
            owned = partition.acquire(lease_s=60)
            assert not isinstance(owned, own.Held)
            weights = (6, 3, 2, 1)
            claims = owned.run(
                own.claim(owned.ownership, 10, starting=10, promote_after_ms=1, weights=weights)
            )
            owned.run(own.promote(owned.ownership))
            size = sum(map(len, claims.bodies))
            acks = {b"k": own.Acks(size, list(claims.ids), [(claims.ids[0], 1000, b"1")])}
            owned.run(own.finish(owned.ownership, acks))
            system, key = pool.system
            leader = lead.lead("n", lease_ms=1000, address="")
            partition.server.info()

            assert leader.read(system.run(key, [leader])[0]).leading
            assert pool.result(job.job_id, partition_key="k") == 1
            assert pool.group("k").cancel() == (1, 0)
            assert partition.audit().clean
