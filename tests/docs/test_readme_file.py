"""The file that the README has people paste is one that its first example imports."""

import re
import subprocess
from pathlib import Path

from queuepool.cli.rows.rows import open_rows, read_rows
from tests.paths import ROOT

README = (ROOT / "README.md").read_text()


def test_the_pasted_file_has_the_arguments_of_the_task(tmp_path: Path) -> None:
    paste = re.search(r"^    (printf .* > people\.csv)$", README, re.MULTILINE)
    signature = re.search(r"^def write_row\((.*?)\)", README, re.MULTILINE)
    assert paste is not None
    assert signature is not None

    # A line of our own page, which readers give to their shell.
    subprocess.run(paste[1], shell=True, cwd=tmp_path, check=True, timeout=60)  # noqa: S602

    with open_rows(str(tmp_path / "people.csv")) as lines:
        rows = [row for _line, row in read_rows(lines, "csv")]
    assert len(rows) == 3
    assert {*rows[0], "ctx"} == set(re.findall(r"(\w+):", signature[1]))
