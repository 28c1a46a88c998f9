"""A second run of the same bulk command adds nothing."""

import io
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from queuepool import QueuePool
from queuepool.cli.exits import Exit
from queuepool.cli.rows import row_ids
from queuepool.models import JobState
from queuepool.protocol.ids import hinted_slot
from queuepool.routing.slots import slot_of
from tests.integration.cli.jobs import KEY, bury, write
from tests.shell import Shell

ROWS = "id,name\n" + "".join(f"{n},name {n}\n" for n in range(700))


def bulk(shell: Shell, *words: str, key: str = KEY, task: str = "t", file: str = "rows.csv") -> int:
    """Run the command; returns how many jobs it added."""
    code = shell.run("bulk", file, "--task", task, "--key", key, "--json", *words)
    assert code == Exit.OK, shell.err
    return int(shell.lines[0]["enqueued"])


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def give(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    return give


def test_the_same_file_is_added_once(shell: Shell, pool: QueuePool) -> None:
    write("rows.csv", ROWS)

    assert [bulk(shell), bulk(shell), bulk(shell, "--skip", "300")] == [700, 0, 0]

    assert (shell.lines[0]["rows"], shell.lines[0]["duplicates"]) == (400, 400)
    assert pool.group(KEY).status().total == 700
    assert shell.run("bulk", "rows.csv", "--task", "t", "--key", KEY) == Exit.OK
    assert "700 rows were not added again" in shell.err


def test_another_name_for_the_same_content_is_the_same_file(shell: Shell, pool: QueuePool) -> None:
    write("rows.csv", ROWS)
    bulk(shell)
    write("copy.csv", ROWS)

    assert bulk(shell, file="copy.csv") == 0


@pytest.mark.parametrize("change", ["key", "task", "content"])
def test_what_is_not_the_same_is_added(shell: Shell, pool: QueuePool, change: str) -> None:
    write("rows.csv", ROWS)
    bulk(shell)

    if change == "content":
        write("rows.csv", ROWS.replace("name 699", "name x"))
        assert bulk(shell) == 700
    else:
        assert bulk(shell, **{change: "other"}) == 700


WAYS = {"file": (), "column": ("--id", "id"), "stream": ("--format", "csv")}


@pytest.mark.parametrize("way", WAYS)
def test_tenants_that_import_the_same_file_each_get_its_jobs(
    shell: Shell, pool: QueuePool, feed: Callable[[str], None], way: str
) -> None:
    write("rows.csv", ROWS)
    names = [f"tenant {n}" for n in range(99)]
    place = pool.group(KEY).partition  # a partition knows the ids of its own jobs only
    first, second, *_ = [n for n in names if pool.group(KEY, tenant=n).partition == place]

    def run(*words: str) -> int:
        feed(ROWS)
        return bulk(shell, *words, *WAYS[way], file="-" if way == "stream" else "rows.csv")

    assert [run("--tenant", name) for name in (first, second, first)] == [700, 700, 0]
    assert [run(), run()] == [700, 0]
    assert [pool.group(KEY, tenant=n).status().total for n in (first, second, None)] == [700] * 3


def test_two_equal_rows_of_a_file_are_two_jobs(shell: Shell, pool: QueuePool) -> None:
    write("rows.csv", "a\n" + "same\n" * 9)

    assert [bulk(shell), bulk(shell)] == [9, 0]


def test_a_column_tells_rows_apart_in_any_file(shell: Shell, pool: QueuePool) -> None:
    write("rows.csv", ROWS)
    assert bulk(shell, "--id", "id") == 700
    write("rows.jsonl", "".join(json.dumps({"id": n, "new": True}) + "\n" for n in range(690, 710)))

    assert bulk(shell, "--id", "id", file="rows.jsonl") == 10
    assert bulk(shell, "--id", "id", key="other") == 700


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"name": "x"}, "line 2: there is no column 'id' for --id"),
        ({"id": ""}, "line 2: column 'id' has no usable id"),
        ({"id": None}, "line 2: column 'id' has no usable id"),
        ({"id": 1.5}, "line 2: column 'id' has no usable id"),
        ({"id": ["x"]}, "line 2: column 'id' has no usable id"),
    ],
)
def test_a_row_without_an_id_is_found_before_the_first_is_added(
    shell: Shell, pool: QueuePool, row: object, problem: str
) -> None:
    file = write("rows.jsonl", '{"id": 1}\n' + json.dumps(row) + "\n")

    words = ("bulk", file, "--task", "t", "--key", KEY, "--id", "id")

    assert shell.run(*words) == Exit.USAGE
    assert problem in shell.err
    assert "nothing of rows.jsonl was enqueued" in shell.err
    assert pool.group(KEY).status().total == 0


def test_the_same_standard_input_is_added_once(
    shell: Shell, pool: QueuePool, feed: Callable[[str], None]
) -> None:
    lines = [json.dumps({"n": n % 7}) + "\n" for n in range(6000)]
    words = ("--format", "jsonl")
    added = []
    for text in (lines, lines, [*lines, lines[0]], lines[1:]):
        feed("".join(text))
        added.append(bulk(shell, *words, file="-"))

    assert added == [6000, 0, 1, 5999]


def test_a_mended_standard_input_goes_on_where_it_broke_off(
    shell: Shell, pool: QueuePool, feed: Callable[[str], None]
) -> None:
    good = [json.dumps({"n": n}) + "\n" for n in range(5400)]
    feed("".join([*good[:5100], "oops\n"]))
    words = ("bulk", "-", "--task", "t", "--key", KEY, "--format", "jsonl")
    assert shell.run(*words) == Exit.USAGE

    feed("".join(good))
    assert bulk(shell, "--format", "jsonl", "--skip", "5000", file="-") == 400
    feed("".join(good))
    assert bulk(shell, "--format", "jsonl", file="-") == 0
    assert pool.group(KEY).status().total == 5400


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[str]:
    os.mkfifo("rows-pipe")
    writer = threading.Thread(target=Path(tmp_path / "rows-pipe").write_text, args=(ROWS,))
    writer.start()
    yield "rows-pipe"
    writer.join(60)


def test_a_named_pipe_is_read_once(shell: Shell, pool: QueuePool, pipe: str) -> None:
    assert bulk(shell, "--format", "csv", file=pipe) == 700


def test_an_endless_device_is_not_read_to_its_end(shell: Shell, pool: QueuePool) -> None:
    ended = shell.run("bulk", "/dev/zero", "--task", "t", "--key", KEY, "--format", "csv")

    assert ended == Exit.USAGE
    assert "the row is longer than" in shell.err


def test_dead_rows_are_not_added_again(shell: Shell, pool: QueuePool) -> None:
    write("rows.csv", "n\n1\n2\n")
    assert bulk(shell, task="send") == 2
    bury(pool, KEY, 2)

    assert bulk(shell, task="send") == 0


def test_a_group_that_ended_is_named_when_its_rows_may_run_again(
    shell: Shell, pool: QueuePool
) -> None:
    pool.enqueue_many("t", [{}] * 5, partition_key=KEY)
    write("rows.csv", ROWS)

    assert shell.run("bulk", "rows.csv", "--task", "t", "--key", KEY) == Exit.OK
    assert "the group had 5 jobs before, 5 of them unfinished" in shell.err


@pytest.mark.parametrize("tenant", ["", "acme"])
def test_the_id_of_a_row_is_enough_to_find_its_job(
    shell: Shell, pool: QueuePool, tenant: str
) -> None:
    write("rows.csv", "id\n4711\n")
    bulk(shell, "--id", "id", *(("--tenant", tenant) if tenant else ()))
    slot = slot_of((f"{tenant}:{KEY}" if tenant else KEY).encode())
    target = row_ids.Target("t", KEY.encode(), slot, tenant.encode())
    job_id = row_ids.by_column("id", target)(2, {"id": "4711"})
    assert job_id is not None

    assert hinted_slot(job_id) == slot
    assert pool.status(job_id).state is JobState.READY


@pytest.mark.parametrize(("first", "then"), [(1, 2), (4, 1), (4, 2), (2, 3)])
def test_a_group_is_not_given_rows_with_another_spread(
    shell: Shell, pool: QueuePool, first: int, then: int
) -> None:
    write("rows.csv", ROWS)
    words = ("bulk", "rows.csv", "--task", "t", "--key", KEY)
    assert [bulk(shell, "--spread", str(first)) for _ in range(2)] == [700, 0]

    assert shell.run(*words, "--spread", str(then)) == Exit.USAGE

    assert "has 700 jobs" in shell.err
    assert ("leave out --spread" if first == 1 else f"use --spread {first}") in shell.err
    status = pool.group(KEY).status()
    assert (status.total, status.spread) == (700, first)


def test_jobs_of_a_spread_group_are_in_several_slots(shell: Shell, pool: QueuePool) -> None:
    write("rows.csv", ROWS)
    words = ("bulk", "rows.csv", "--task", "t", "--spread", "2", "--key")

    assert shell.run(*words, "told") == Exit.OK
    assert "700 jobs enqueued to 2 slots in" in shell.err
    assert shell.run(*words, "listed", "--json") == Exit.OK
    assert (shell.lines[0]["partition"], shell.lines[0]["spread"]) == (None, 2)
