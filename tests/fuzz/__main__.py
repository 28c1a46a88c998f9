"""Run all targets in turn under atheris. Exit code 1: an input fails; it is kept and printed."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz import corpus
from tests.fuzz.targets import TARGETS
from tests.paths import ROOT

WORK = ROOT / ".fuzz"  # not kept in the repository
_MAX_BYTES = 4096
_SLOW_S = 10  # an input that takes longer is a defect, too
_ROUND_S = 60.0  # each target for a minute at most, then the next, so that an early end saw all
_SPARE_S = 300.0  # for a process to start and to end, beyond what it is given


def main() -> int:
    """Return the exit code."""
    arguments = _parse()
    if arguments.keep:
        name, file = arguments.keep
        kept = corpus.found(name)
        corpus.write(kept, [*corpus.read(kept), Path(file).read_bytes()])
        return 0
    names = arguments.target or list(TARGETS)
    if arguments.minimise:
        for name in names:
            _minimise(name)
        return 0
    return _fuzz(names, 60.0 * arguments.minutes)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="for all targets together")
    parser.add_argument("--target", action="append", choices=list(TARGETS), help="only this one")
    parser.add_argument("--keep", nargs=2, metavar=("TARGET", "FILE"), help="add to the corpus")
    parser.add_argument("--minimise", action="store_true", help="take over what .fuzz/ has found")
    return parser.parse_args()


def _fuzz(names: list[str], seconds: float) -> int:
    failed: set[str] = set()
    rounds = max(1, round(seconds / (_ROUND_S * len(names))))
    each_s = max(1.0, seconds / (rounds * len(names)))
    for number in range(rounds):
        for name in names:
            if name not in failed and not _run(name, each_s, f"{number + 1} of {rounds}"):
                failed.add(name)
    _say(f"failed: {', '.join(sorted(failed))}" if failed else "nothing was found")
    return 1 if failed else 0


def _run(name: str, seconds: float, number: str) -> bool:
    """Fuzz one target for a time; returns whether nothing was found."""
    folder = WORK / name
    folder.mkdir(parents=True, exist_ok=True)
    _unpack(name, folder)
    known = set(folder.glob("*-*"))
    try:
        done = _libfuzzer(
            name,
            f"-max_total_time={max(1, round(seconds))}",
            f"-artifact_prefix={folder}/",
            str(folder),
            within_s=seconds + _SPARE_S,
        )
    except subprocess.TimeoutExpired:
        _say(f"{name}, round {number}: did not end {_SPARE_S:.0f} s after its time; a call hangs")
        return False
    last = [line for line in done.stderr.splitlines() if re.match("#[0-9]", line)][-1:]
    _say(f"{name}, round {number}: {' '.join(last) or 'no report'}")
    if done.returncode == 0:
        return True
    _say(done.stderr[-6000:])
    for file in sorted(set(folder.glob("*-*")) - known):
        _say(f"{name} fails with {file.read_bytes()!r}")
        _say(f"keep it: python -m tests.fuzz --keep {name} {file}")
    return False


def _minimise(name: str) -> None:
    """Keep as few inputs as reach all that the known ones reach."""
    with TemporaryDirectory() as found, TemporaryDirectory() as kept:
        _unpack(name, Path(found))
        # What is kept comes first, so the corpus changes only where something new was reached.
        (WORK / name).mkdir(parents=True, exist_ok=True)
        done = _libfuzzer(name, "-merge=1", kept, found, str(WORK / name), within_s=600)
        if done.returncode != 0:
            raise SystemExit(f"{name}: its inputs cannot be merged\n{done.stderr[-2000:]}")
        inputs = [file.read_bytes() for file in Path(kept).iterdir()]
    corpus.write(name, inputs)
    _say(f"{name}: {len(inputs)} inputs, {sum(map(len, inputs)):,} bytes")


def _unpack(name: str, folder: Path) -> None:
    for number, data in enumerate(corpus.all_of(name)):
        (folder / f"kept{number}").write_bytes(data)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _libfuzzer(name: str, *options: str, within_s: float) -> subprocess.CompletedProcess[str]:
    limits = (f"-max_len={_MAX_BYTES}", f"-timeout={_SLOW_S}", "-rss_limit_mb=2048")
    return subprocess.run(
        [sys.executable, "-m", "tests.fuzz.run", name, *limits, *options],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        timeout=within_s,
        check=False,
    )


if __name__ == "__main__":
    sys.exit(main())
