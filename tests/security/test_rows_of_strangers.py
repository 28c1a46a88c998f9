"""A file of rows means what it says, or nothing of it is enqueued."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuepool import ConfigurationError, QueuePool, cli
from queuepool.cli.rows.rows import RowError, read_rows
from queuepool.errors.escaping import key_bytes_of
from queuepool.settings.environment import QueuePoolSettings, load
from tests.security.planted import NASTY, controls


@pytest.fixture
def pool(redis_url: str, stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> QueuePool:
    monkeypatch.setenv("QUEUEPOOL_URL", redis_url)
    monkeypatch.setenv("QUEUEPOOL_STAGE", stage)
    monkeypatch.chdir(tmp_path)
    return QueuePool.from_env()


def bulk(name: str, *more: str) -> int:
    return cli.main(["bulk", name, "--task", "t", "--key", "k", *more])


TWICE = {
    "a row": '{"id": 1, "id": 2}',
    "an object within": '{"a": [{"b": {"id": 1, "x": 0, "id": 1}}]}',
    "escaped": '{"id": 1, "\\u0069d": 2}',
    "steering": json.dumps({"x": 1})[:-1] + f", {json.dumps(NASTY)}: 1, {json.dumps(NASTY)}: 2}}",
}


@pytest.mark.parametrize("row", TWICE.values(), ids=list(TWICE))
@pytest.mark.parametrize("more", [[], ["--skip", "1"], ["--id", "id"]])
def test_a_key_that_stands_twice_is_refused_before_anything_is_enqueued(
    row: str, more: list[str], pool: QueuePool, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("rows.jsonl").write_text('{"id": 0}\n{"id": 9}\n' + row + "\n")

    assert bulk("rows.jsonl", *more) == 2

    err = capsys.readouterr().err
    assert "line 3: " in err
    assert "twice" in err
    assert ("'id'" in err) or (r"\x1b[31m" in err)
    assert not controls(err)
    with pool:
        assert pool.group("k").status().total == 0


def test_from_a_pipe_it_says_how_many_rows_before_it_are_in(
    pool: QueuePool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '{"id": 0}\n' + TWICE["a row"] + "\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    assert bulk("-", "--format", "jsonl") == 2

    err = capsys.readouterr().err
    assert "line 2: " in err
    assert "the first 0 rows are enqueued" in err  # a batch is sent when all of it is read
    with pool:
        assert pool.group("k").status().total == 0


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_rows_without_such_keys_are_read_as_ever(value: Any) -> None:
    row = {"value": value}

    assert list(read_rows([json.dumps(row)], "jsonl")) == [(1, row)]


def endless(part: str) -> Iterator[str]:
    while True:
        yield part


class Endless:
    """A file whose first line has no end."""

    def readline(self, size: int = -1) -> str:
        assert size > 0, "a line is read without a bound"
        return "x" * size

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("a line is read without a bound")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_line_without_an_end_is_refused_and_not_kept(form: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(RowError, match=r"line 1: .*longer than"):
            list(read_rows(Endless(), form))
        assert tracemalloc.get_traced_memory()[1] < 200 * 1024**2
    finally:
        tracemalloc.stop()


def test_a_csv_row_over_endless_lines_is_refused_and_not_kept() -> None:
    lines = ["a,b\n", '"x']

    def text() -> Iterator[str]:
        yield from lines
        yield from endless("y" * 1000 + "\n")

    with pytest.raises(RowError, match="line 2: "):
        list(read_rows(text(), "csv"))


@pytest.mark.parametrize("key", [r"a\xff", r"\x1b[2J", "a; rm -rf ~", r"C:\temp"])
@pytest.mark.parametrize("more", [[], ["--id", "id"]])
def test_the_key_of_a_bulk_action_means_what_it_means_elsewhere(
    key: str, more: list[str], pool: QueuePool, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("rows.jsonl").write_text('{"id": 0}\n')

    assert cli.main(["bulk", "rows.jsonl", "--task", "t", "--key", key, *more, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["key"] == key

    assert cli.main(["group", "show", key, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"] == 1
    with pool:
        assert pool.group(key_bytes_of(key)).status().total == 1


@pytest.mark.parametrize("name", ["a\x00b", "\x1b[31m", "\u202e"])
def test_odd_names_and_nuls_are_data_and_come_through(name: str, pool: QueuePool) -> None:
    Path("rows.csv").write_bytes(b"\xef\xbb\xbf" + f'"{name}",b\nv\x00,2\n'.encode())

    assert bulk("rows.csv") == 0

    with pool:
        assert pool.group("k").status().total == 1


def test_names_that_stand_twice_in_a_header_are_told_in_one_clean_line(
    pool: QueuePool, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("rows.csv").write_text(f'"{NASTY}"," {NASTY} "\n1,2\n', newline="")

    assert bulk("rows.csv") == 2

    err = capsys.readouterr().err
    assert "more than once" in err
    assert not controls(err)
    assert not [line for line in err.splitlines() if not line.startswith("queuepool: ")]


def test_a_server_that_is_named_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUEUEPOOL_URL", raising=False)
    monkeypatch.setenv("QUEUEPOOL_SERVERS", '{"main": "redis://a", "main": "redis://:pw@b"}')

    with pytest.raises(ConfigurationError, match=r"QUEUEPOOL_SERVERS: .*'main'.*twice") as caught:
        load(QueuePoolSettings)

    assert "pw" not in str(caught.value)
