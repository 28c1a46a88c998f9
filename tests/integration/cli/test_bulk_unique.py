"""queuepool bulk --unique: the value of a column is the key that other jobs must not share."""

import json

import pytest

from queuepool import QueuePool
from queuepool.cli.exits import Exit
from queuepool.protocol.codec import MAX_UNIQUE_BYTES
from tests.integration.cli.jobs import KEY, claim, own_partition, write
from tests.shell import Shell

WORDS = ("--task", "t", "--key", KEY, "--unique", "account")
ROWS = "account,n\n7,1\n8,2\n7,3\n"


def summary(shell: Shell, *words: str) -> dict[str, int]:
    """Run the command on rows.csv; return what its summary counts."""
    assert shell.run("bulk", "rows.csv", *WORDS, "--json", *words) == Exit.OK, shell.err
    names = ("rows", "enqueued", "duplicates", "conflicts", "replaced")
    return {name: shell.lines[0][name] for name in names}


def test_a_row_whose_key_is_taken_is_counted_and_not_added(shell: Shell, pool: QueuePool) -> None:
    write("rows.csv", ROWS)

    counts = summary(shell)

    assert counts == {"rows": 3, "enqueued": 2, "duplicates": 0, "conflicts": 1, "replaced": 0}
    assert pool.group(KEY).status().total == 2
    assert pool.enqueue("t", {}, partition_key=KEY, unique="7").status == "conflict"
    write("rows.csv", ROWS + "9,4\n")
    assert shell.run("bulk", "rows.csv", *WORDS) == Exit.OK
    assert "1 jobs enqueued" in shell.err
    assert "3 rows were not added: jobs with their unique keys have not ended" in shell.err


@pytest.mark.parametrize("on_conflict", ["replace", "debounce"])
def test_a_later_row_gives_its_payload_to_the_job_that_waits(
    shell: Shell, pool: QueuePool, on_conflict: str
) -> None:
    write("rows.csv", ROWS)

    counts = summary(shell, "--on-conflict", on_conflict)

    assert counts == {"rows": 3, "enqueued": 2, "duplicates": 0, "conflicts": 0, "replaced": 1}
    write("rows.csv", ROWS + "8,9\n")
    assert shell.run("bulk", "rows.csv", *WORDS, "--on-conflict", on_conflict) == Exit.OK
    assert "4 rows were not added: waiting jobs with their unique keys" in shell.err
    status = pool.group(KEY).status()
    assert (status.total, status.ready) == (2, 2)


@pytest.mark.parametrize(("until", "conflicts"), [(None, 3), ("end", 3), ("start", 0)])
def test_a_key_is_free_at_the_end_or_at_the_start(
    shell: Shell, pool: QueuePool, until: str | None, conflicts: int
) -> None:
    words = () if until is None else ("--until", until)
    write("rows.csv", "account\n1\n2\n3\n")
    summary(shell, *words)
    owned = own_partition(pool, pool.group(KEY).partition.number)
    assert len(claim(owned)) == 3  # and they start

    write("rows.csv", "account\n3\n2\n1\n")
    assert summary(shell, *words)["conflicts"] == conflicts


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"n": "x"}, "line 2: there is no column 'account' for --unique (known: n)"),
        ({"account": ""}, "line 2: column 'account' has no usable key: --unique needs a string"),
        ({"account": "  "}, "line 2: column 'account' has no usable key"),
        ({"account": None}, "line 2: column 'account' has no usable key"),
        ({"account": True}, "line 2: column 'account' has no usable key"),
        ({"account": "x" * (MAX_UNIQUE_BYTES + 1)}, "line 2: unique='xxx"),
    ],
)
def test_a_row_without_a_usable_key_is_named_before_the_first_is_added(
    shell: Shell, pool: QueuePool, row: object, problem: str
) -> None:
    file = write("rows.jsonl", '{"account": 1}\n' + json.dumps(row) + "\n")

    assert shell.run("bulk", file, *WORDS) == Exit.USAGE

    assert problem in shell.err
    assert "nothing of rows.jsonl was enqueued" in shell.err
    assert pool.group(KEY).status().total == 0


@pytest.mark.parametrize("option", [("--until", "start"), ("--on-conflict", "replace")])
def test_what_becomes_of_keys_needs_keys(shell: Shell, option: tuple[str, str]) -> None:
    write("rows.csv", ROWS)

    assert shell.run("bulk", "rows.csv", "--task", "t", "--key", KEY, *option) == Exit.USAGE
    assert "--until and --on-conflict need --unique COLUMN" in shell.err
