"""All checks of `make check`.

Run: `python -m tools.check`.

All checks run even if one fails, so that one run shows everything there is to fix.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TYPED = ("queuepool", "consumer", "coordinator", "tests", "benchmarks", "examples", "tools")


@dataclass(frozen=True, slots=True)
class Check:
    """One command that must succeed, and what to do if it does not."""

    name: str
    command: tuple[str, ...]
    remedy: str


def checks() -> list[Check]:
    """Return the checks in the order in which they run, the fastest first."""
    folders = tuple(folder for folder in TYPED if any((ROOT / folder).rglob("*.py")))
    return [
        Check("format", ("ruff", "format", "--check", "--quiet", "."), "run `make format`"),
        Check("lint", ("ruff", "check", "--quiet", "."), "`make format` fixes what it can"),
        Check("sizes", ("python", "-m", "tools.sizes"), "split the file: look for a better noun"),
        Check(
            "import rules",
            ("lint-imports", "--no-cache"),
            "move the import to where it is allowed; pyproject.toml holds the rules",
        ),
        Check(
            "generated stubs",
            ("python", "-m", "tools.stubs", "--check"),
            "run `make stubs` and commit queuepool/rpc",
        ),
        Check(
            "manifests",
            ("python", "-m", "tools.manifests", "--check"),
            "run `python -m tools.manifests --write` with the extra `deploy`",
        ),
        Check("types", ("mypy", *folders), "fix the annotations; an ignore names its code"),
    ]


def main() -> int:
    """Run the checks; return 0 if all succeed."""
    failed = []
    for check in checks():
        program = Path(sys.executable).parent / check.command[0]
        done = subprocess.run(
            [str(program), *check.command[1:]],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            warnings = [line for line in done.stdout.splitlines() if line.startswith("warning:")]
            print(f"ok      {check.name}", *warnings, sep="\n        ", flush=True)
        else:
            failed.append(check)
            print(f"FAILED  {check.name}\n{done.stdout.rstrip()}", flush=True)
    for check in failed:
        print(f"{check.name}: {check.remedy}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
