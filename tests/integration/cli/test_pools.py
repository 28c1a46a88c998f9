"""Commands that enqueue for a pool, and start one."""

from pathlib import Path

import pytest

from queuepool.cli.commands import up
from queuepool.cli.exits import CommandError
from queuepool.cli.parser import build_parser
from queuepool.client.pool import QueuePool
from tests.shell import Shell


def test_rows_go_to_the_pool_that_is_named(pool: QueuePool, shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"n": 1}\n{"n": 2}\n')

    words = ("bulk", str(file), "--task", "encode", "--key", "album", "--pool")
    assert shell.run(*words, "video") == 0, shell.err
    assert shell.run(*words, "}{") != 0
    assert "use a name of 1 to 32" in shell.err

    place = pool.partition(pool.group("album").partition.number, "video")
    assert (place.observe().backlog, pool.group("album").status().ready) == (2, 2)


def pools_of(*words: str) -> str | None:
    return up._pools(build_parser().parse_args(["up", "--app", "tasks", *words]))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--pools", "default=2..1"), "must come first"),
        (("--pools", "video=2"), "add default=8..64"),
        (("--pools", "default=2", "--max-workers", "3"), "drop --base-workers and --max-workers"),
    ],
)
def test_pools_that_a_cluster_cannot_have_are_refused(words: tuple[str, ...], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        pools_of(*words)

    assert pools_of("--pools", "default=2,cpu=process:1") == "default=2,cpu=process:1"
    assert pools_of() is None
