"""The Python on the pages runs: against a real server, with a real consumer where one is needed.

A block whose first line is `# name.py` becomes that file: a module of tasks, or, as `test_*.py`,
tests for pytest. All other blocks of a page are one script, on the lines that they have on the
page, so that a traceback names the page's own lines.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.paths import ROOT

FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# (\w+\.py)\n")


@dataclass
class Snippets:
    """What the blocks of a page come to: files by name, and one script."""

    files: dict[str, str] = field(default_factory=dict)
    script: str = ""

    @property
    def modules(self) -> list[str]:
        """Return the modules that define tasks."""
        return [name[:-3] for name in self.files if not name.startswith("test_")]


def snippets(page: str) -> Snippets:
    """Return the Python of a page."""
    found = Snippets()
    for block in FENCE.finditer(page):
        code, line = block[1], page.count("\n", 0, block.start(1))
        if named := NAMED.match(code):
            found.files[named[1]] = found.files.get(named[1], "") + code
        else:
            found.script += "\n" * (line - found.script.count("\n")) + code
    return found


def pages() -> list[str]:
    """Return the pages that show Python, relative to the root."""
    paths = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    return [str(p.relative_to(ROOT)) for p in paths if FENCE.search(p.read_text())]


def run(arguments: list[str], folder: Path, environment: dict[str, str]) -> None:
    """Run Python on something in a folder; fail the test with its output."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"


@contextmanager
def consumer_of(modules: list[str], folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """Run a consumer of these modules meanwhile; none when there are no modules."""
    if not modules:
        yield
        return
    command = [sys.executable, "-m", "consumer", "--app", ",".join(modules)]
    with (folder / "consumer.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            try:
                code = process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait(timeout=60)
        said = (folder / "consumer.log").read_text()
    assert code == 0, said


@pytest.mark.parametrize("page", pages())
def test_the_python_of_a_page_runs(page: str, tmp_path: Path, redis_url: str, stage: str) -> None:
    found = snippets((ROOT / page).read_text())
    for name, code in found.files.items():
        (tmp_path / name).write_text(code)
    script = tmp_path / Path(page).with_suffix(".py").name
    script.write_text(found.script)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("QUEUEPOOL_")} | {
        "QUEUEPOOL_URL": redis_url,
        "QUEUEPOOL_STAGE": stage,
        "QUEUEPOOL_PARTITIONS": "1",
        "CONSUMER_METRICS_PORT": "-1",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}",
    }

    with consumer_of(found.modules, tmp_path, environment):
        run([str(script)], tmp_path, environment)
    tests = [name for name in found.files if name.startswith("test_")]
    if tests:
        run(["-m", "pytest", "-q", "-p", "no:valkey", *tests], tmp_path, environment)


def test_the_pages_are_found() -> None:
    assert {"docs/first-day.md", "docs/lifecycle.md"} <= set(pages())


def test_blocks_keep_their_lines_and_files_their_names() -> None:
    blocks = ("a = 1", "# tasks.py\nb = 2", "c = 3")
    page = "# t\n\n" + "\n".join(f"```python\n{block}\n```\n" for block in blocks)

    found = snippets(page)

    assert found.modules == ["tasks"]
    assert found.script.splitlines() == ["", "", "", "a = 1", *[""] * 8, "c = 3"]
