"""What mypy makes of a user's modules: the package is typed, and the examples are."""

import re
import subprocess
import sys
import venv
import zipfile
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest

from tests.docs.test_snippets import snippets
from tests.paths import ROOT

WRONG = Path(__file__).with_name("wrong_calls.py")
COMMENT = re.compile(r"# (error|type): (.+)$")
SAID = re.compile(r"^[^:]+:(\d+): (?:error: .*\[([\w-]+)\]|note: Revealed type is \"(.+)\")$")
NOT_TESTS = re.compile(r"^(?!test_)\w+\.py$")

pytestmark = [pytest.mark.xdist_group("mypy"), pytest.mark.timeout(240)]


class Mypy(Protocol):
    """Check modules in a folder; returns the exit code and what was said."""

    def __call__(self, folder: Path, *names: str, python: str = sys.executable) -> tuple[int, str]:
        """Check them with the package as an interpreter has it."""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> Mypy:
    """Check as a user would, by a cache of this module's own: the package is read once."""
    return partial(_mypy, tmp_path_factory.mktemp("cache"))


def _mypy(cache: Path, folder: Path, *names: str, python: str = sys.executable) -> tuple[int, str]:
    options = ("--strict", "--no-error-summary", f"--cache-dir={cache}", "--config-file=")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, f"--python-executable={python}", *names],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Write the Python of README and of the first day as the pages name it."""
    folder = tmp_path_factory.mktemp("examples")
    for page in ("README.md", "docs/first-day.md"):
        found = snippets((ROOT / page).read_text())
        for name, code in found.files.items():
            (folder / name).write_text(code)
        (folder / f"{Path(page).stem.lower().replace('-', '_')}.py").write_text(found.script)
    return folder, sorted(path.name for path in folder.glob("*.py"))


def test_the_examples_of_the_pages_are_typed(mypy: Mypy, examples: tuple[Path, list[str]]) -> None:
    folder, names = examples
    assert {"rows.py", "readme.py", "tasks.py", "first_day.py", "test_tasks.py"} <= set(names)

    assert mypy(folder, *names) == (0, "")


def test_wrong_calls_are_errors_and_right_ones_have_their_types(mypy: Mypy, tmp_path: Path) -> None:
    (tmp_path / WRONG.name).write_text(WRONG.read_text())

    code, said = mypy(tmp_path, WRONG.name)

    found: dict[int, list[str]] = {}
    for line in said.splitlines():
        if match := SAID.match(line):
            found.setdefault(int(match[1]), []).append(match[2] or match[3])
    wanted = {
        number: match[2].split(", ") if match[1] == "error" else [match[2]]
        for number, line in enumerate(WRONG.read_text().splitlines(), start=1)
        if (match := COMMENT.search(line))
    }
    assert code == 1
    assert {n: sorted(set(texts)) for n, texts in found.items()} == wanted


@pytest.mark.slow
def test_the_wheel_brings_the_types(
    mypy: Mypy, tmp_path: Path, examples: tuple[Path, list[str]]
) -> None:
    folder, names = examples
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(ROOT)],
        check=True,
        timeout=200,
    )
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "v", with_pip=False)
    (site,) = (tmp_path / "v").glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
        marked = {name for name in packed.namelist() if name.endswith("py.typed")}

    assert marked == {f"{p}/py.typed" for p in ("queuepool", "consumer", "coordinator")}
    modules = [name for name in names if NOT_TESTS.match(name)]  # pytest is not in there
    assert mypy(folder, *modules, python=str(tmp_path / "v" / "bin" / "python")) == (0, "")
