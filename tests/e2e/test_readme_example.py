"""The first example of the README, word for word, with real processes."""

import csv
import random
import re
import signal
import sqlite3
from pathlib import Path

import pytest

from queuepool.cli.exits import Exit
from tests.e2e.clusters import up
from tests.paths import ROOT

README = ROOT / "README.md"
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("cluster"), pytest.mark.timeout(240)]

ROWS = 16_000


def readme_module() -> str:
    """Return rows.py as the README shows it."""
    fence = re.compile(r"^```python\n(# rows\.py\n.*?)^```$", re.MULTILINE | re.DOTALL)
    block = fence.search(README.read_text())
    assert block is not None
    return block[1]


def test_the_examples_folder_holds_the_module_of_the_readme() -> None:
    assert (ROOT / "examples" / "rows.py").read_text() == readme_module()


def test_the_table_holds_exactly_the_rows_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "rows.py").write_text(readme_module())
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
