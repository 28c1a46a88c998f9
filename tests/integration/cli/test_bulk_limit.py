"""queuepool bulk --limit: which limits hold for the jobs of rows."""

import pytest

from queuepool import QueuePool
from queuepool.cli.exits import Exit
from queuepool.verbs.owner import gates as at_gates
from tests.integration.cli.jobs import KEY, write
from tests.shell import Shell

WORDS = ("--task", "t", "--key", KEY)
ROWS = "account,n\n7,1\n8,2\n7,3\n"


def gates(pool: QueuePool) -> dict[str, int]:
    """Return how many jobs of the group's partition wait for which limits."""
    page = pool.group(KEY).partition.run(at_gates.gates())
    return {gate.limits: gate.parked for gate in page.gates}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((), {}),
        (("--limit", "mail"), {"mail": 3}),
        (("--limit", "mail:{account}"), {"mail:7": 2, "mail:8": 1}),
        (("--limit", "z", "--limit", "mail:{account}"), {"mail:7,z": 2, "mail:8,z": 1}),
    ],
)
def test_jobs_of_rows_are_parked(
    shell: Shell, pool: QueuePool, words: tuple[str, ...], found: dict[str, int]
) -> None:
    write("rows.csv", ROWS)

    assert shell.run("bulk", "rows.csv", *WORDS, *words) == Exit.OK, shell.err

    assert gates(pool) == found
    assert pool.group(KEY).status().parked == sum(found.values())


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        (["a b"], "a limit cannot be named 'a b'"),
        (list("abcde"), "5 limits; a job may name 4"),
        (["mail:{nobody}"], "line 2: limit='mail:{nobody}' needs the field 'nobody'"),
        (["{account}"], "line 4: limit='{account}': 'no name' would be the limit"),
    ],
)
def test_what_names_no_limit_is_told_before_the_first_row_is_added(
    shell: Shell, pool: QueuePool, limits: list[str], problem: str
) -> None:
    write("rows.csv", "account,n\n7,1\n8,2\nno name,3\n")
    words = [word for name in limits for word in ("--limit", name)]

    assert shell.run("bulk", "rows.csv", *WORDS, *words) == Exit.USAGE

    assert problem in shell.err
    assert pool.group(KEY).status().total == 0
