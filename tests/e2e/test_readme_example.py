"""The first example of the README, word for word, with real processes."""

import csv
import random
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from queuepool.cli.exits import Exit
from tests.e2e.clusters import up
from tests.paths import ROOT

README = ROOT / "README.md"
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("readme"), pytest.mark.timeout(240)]

ROWS = 4_000


def readme_module(name: str) -> str:
    """Return a module as the README shows it."""
    fence = re.compile(rf"^```python\n(# {name}\n.*?)^```$", re.MULTILINE | re.DOTALL)
    block = fence.search(README.read_text())
    assert block is not None
    return block[1]


@pytest.mark.parametrize("name", ["hello.py", "rows.py"])
def test_the_examples_folder_holds_the_modules_of_the_readme(name: str) -> None:
    assert (ROOT / "examples" / name).read_text() == readme_module(name)


def test_the_first_example_prints_its_greeting(tmp_path: Path) -> None:
    (tmp_path / "hello.py").write_text(readme_module("hello.py"))

    with up(tmp_path, "--app", "hello") as cluster:
        done = subprocess.run(
            [sys.executable, "hello.py"],
            cwd=tmp_path,
            env=cluster.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert cluster.stop(signal.SIGINT) == Exit.OK, cluster.shown

    assert (done.stdout, done.returncode) == ("hello Ada\n", 0), done.stderr


def test_the_table_holds_exactly_the_rows_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "rows.py").write_text(readme_module("rows.py"))
    numbers = random.Random(16).sample(range(10**9), ROWS)
    rows = [(str(n), f"Ada, {n}\nLovelace", "Zürich" if n % 2 else '"Bern"') for n in numbers]
    with (tmp_path / "people.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "name", "city"), *rows])

    with up(tmp_path, "--app", "rows", "--partitions", "4") as cluster:
        done = cluster.run(
            "bulk", "people.csv", "--task", "write_row", "--key", "import-1", "--wait", "--json"
        )
        assert done.code == Exit.OK, done.err
        assert (done.last["rows"], done.last["done"], done.last["dead"]) == (ROWS, ROWS, 0)
        assert cluster.stop(signal.SIGINT) == Exit.OK, cluster.shown

    with sqlite3.connect(tmp_path / "rows.sqlite") as database:
        stored = database.execute("SELECT id, name, city FROM rows").fetchall()
    database.close()
    assert len(stored) == ROWS
    assert set(stored) == set(rows)
