"""Files of `queuepool bulk`: every row is a payload, or an error that names its line."""

import io
import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from queuepool import InvalidInputError
from queuepool.cli.exits import Exit
from queuepool.cli.rows.rows import Row, RowError, open_rows, read_rows
from queuepool.client.pool import QueuePool
from queuepool.testing import MemoryPool
from tests.shell import Shell

CELLS = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(
    ["a", "b", ",", '"', '""', "\r\n", "\n", "\r", "\x00", "{", '{"a":', "NaN", "1e999", "[]"]
)
FILES = st.lists(CELLS, max_size=30).map("".join)
FORMATS = st.sampled_from(["csv", "tsv", "jsonl"])


def read(lines: Iterable[str], form: str) -> tuple[list[Row], RowError | None]:
    """Return the rows up to a bad one, and what is wrong with that."""
    rows: list[Row] = []
    try:
        rows.extend(read_rows(lines, form))  # keeps what came before an error
    except RowError as error:
        return rows, error
    return rows, None


@given(FILES, FORMATS)
@example('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "jsonl")
@example('{"a": ' + "9" * 5_000 + "}", "jsonl")
@example('{"a": NaN}\n{"b": -Infinity}', "jsonl")
@example('{"a": "\\ud800"}', "jsonl")
@example("a\n" + "x" * 20_000_000, "csv")
@example('a\n"', "csv")
def test_any_text_is_rows_or_an_error_with_a_line(text: str, form: str) -> None:
    pool = MemoryPool()
    rows, problem = read(io.StringIO(text, newline=""), form)
    taken = sum(_enqueued(pool, payload) for _, payload in rows)

    assert pool.partition(0).observe().jobs == taken
    lines = [line for line, _ in rows]
    assert lines == sorted(set(lines))
    if problem is not None:
        assert all(line < problem.line for line in lines)
        assert str(problem).startswith(f"line {problem.line}: ")
        assert len(str(problem)) < 1_000


def _enqueued(pool: QueuePool, payload: dict[str, object]) -> bool:
    try:
        pool.enqueue("work", payload, partition_key="g")
    except InvalidInputError:
        return False
    return True


@given(st.binary(max_size=60), FORMATS)
def test_any_bytes_are_rows_or_an_error(raw: bytes, form: str) -> None:
    rows, problem = read(io.TextIOWrapper(io.BytesIO(raw), "utf-8-sig", newline=""), form)

    assert all(isinstance(payload, dict) for _, payload in rows)
    assert problem is None or str(problem).startswith(f"line {problem.line}: ")


@pytest.mark.parametrize("name", ["nowhere.csv", ".", "a\x00b.csv", "x" * 5_000])
def test_a_file_that_cannot_be_opened_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        open_rows(name)


@pytest.mark.parametrize(
    "row",
    ['{"price": NaN}', '{"price": 1e999}', '{"price": ' + "[" * 5_000 + "]" * 5_000 + "}",
     '{"price": "\\ud800"}', '{"price": ' + "9" * 5_000 + "}"],
    ids=["NaN", "infinity", "deep", "surrogate", "long number"],
)  # fmt: skip
def test_bulk_names_the_line_of_a_row_that_is_no_json_and_enqueues_nothing(
    row: str, shell: Shell
) -> None:
    Path("rows.jsonl").write_text(json.dumps({"price": 1}) + "\n" + row + "\n")

    code = shell.run("bulk", "rows.jsonl", "--task", "work", "--key", "g")

    assert code == Exit.USAGE
    assert "line 2" in shell.err
    with QueuePool.from_env() as pool:
        assert pool.group("g").status().total == 0


@pytest.mark.parametrize("text", ["", ";;", '"', "\n", "\0", "tabs"])
def test_bulk_names_a_delimiter_that_cannot_be_one(
    text: str, shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        shell.run("bulk", "rows.csv", "--task", "work", "--key", "g", f"--delimiter={text}")

    assert ended.value.code == Exit.USAGE
    assert "cannot separate fields: use one character" in capsys.readouterr().err


def test_bulk_takes_the_delimiter_that_an_error_recommends(shell: Shell) -> None:
    Path("rows.csv").write_text("a;b\n1;2\n")
    words = ("bulk", "rows.csv", "--task", "work", "--key", "g")

    assert shell.run(*words) == Exit.USAGE
    assert "Use --delimiter ';' to split it" in shell.err
    assert shell.run(*words, "--delimiter", ";") == Exit.OK

    assert "1 jobs enqueued" in shell.err


def test_bulk_refuses_a_delimiter_of_json_lines(shell: Shell) -> None:
    Path("rows.jsonl").write_text("{}\n")

    code = shell.run("bulk", "rows.jsonl", "--task", "work", "--key", "g", "--delimiter", "tab")

    assert code == Exit.USAGE
    assert "JSON Lines have no delimiter" in shell.err


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--task", ""),
        ("--task", "t" * 5_000),
        ("--expires", "0"),
        ("--max-attempts", "9999999999999"),
        ("--spread", "5000"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_an_invalid_option_of_bulk_enqueues_nothing_and_says_so(
    option: str, value: str, stream: bool, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("rows.csv").write_text("a\n1\n2\n3\n")
    options = {"--task": "work", "--key": "g", "--format": "csv"} | {option: value}
    words = [word for pair in options.items() for word in pair]
    file = "rows.csv"
    if stream:
        file = "-"
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\n1\n2\n3\n")))

    code = shell.run("bulk", file, *words)

    assert code == Exit.USAGE
    assert "nothing was enqueued" in shell.err
    assert "rows are enqueued" not in shell.err
    with QueuePool.from_env() as pool:
        assert pool.group("g").status().total == 0


@pytest.mark.parametrize(
    "words", [("replay", "nowhere.csv"), ("bulk", "nowhere.csv", "--task", "t", "--key", "g")]
)
def test_a_command_whose_file_cannot_be_read_ends_as_for_invalid_input(
    words: tuple[str, ...], shell: Shell
) -> None:
    assert shell.run(*words) == Exit.USAGE
    assert "cannot be read" in shell.err
