"""Try deploy/ for real, and tell what was tried and what was not.

    python -m tests.deploy.real      what `make test-deploy` runs after the tests of files

Exit code 1 when a trial failed. What cannot be tried here is named, and is no failure.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from tests.deploy.real import images, trials
from tests.deploy.real.cluster import cluster
from tests.deploy.real.engine import Engine, UnavailableError, engine
from tests.paths import ROOT


class Report:
    """What was tried, a line each."""

    def __init__(self) -> None:
        self.failed = 0

    def say(self, verdict: str, text: str) -> None:
        """Print a line at once."""
        sys.stdout.write(f"{verdict:<8}{text}\n")
        sys.stdout.flush()

    def tried(self, name: str, trial: Callable[[], str]) -> None:
        """Try something; print how it went."""
        began_s = monotonic()
        try:
            found = trial()
        except (AssertionError, subprocess.SubprocessError) as error:
            self.failed += 1
            notes = "\n".join(getattr(error, "__notes__", ()))
            self.say("FAILED", f"{name}: {error}\n{notes}".rstrip())
        else:
            self.say("ok", f"{name} ({monotonic() - began_s:.0f} s): {found}")


def main() -> int:
    """Try everything that can be tried on this machine; return 1 if anything failed."""
    report = Report()
    _lint(report)
    try:
        with engine() as found:
            _try_containers(report, found)
    except UnavailableError as error:
        report.say("skipped", f"image and cluster of containers: {error}")
    report.say("skipped", "Kubernetes: manifests are only rendered and checked against schemas")
    report.say("skipped", "systemd: units are only verified, not started")
    return 1 if report.failed else 0


def _lint(report: Report) -> None:
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if hadolint is None:
        report.say("skipped", "hadolint: it comes with the extra `deploy`")
        return
    files = [str(ROOT / "deploy" / name) for name in ("Dockerfile", "example/Dockerfile")]

    def lint() -> str:
        done = subprocess.run([hadolint, *files], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
        return "no findings"

    report.tried("hadolint", lint)


def _try_containers(report: Report, found: Engine) -> None:
    version = found.run("version", "--format", "{{.Server.Version}}").strip()
    python, base_from = images.base(found)
    server, server_from = images.server(found, python)
    report.say("", f"engine {version}; base of Python {python} from {base_from}")
    report.say("", f"server {server} from {server_from}")
    with tempfile.TemporaryDirectory(prefix="queuepool-deploy-") as directory:
        began_s = monotonic()
        try:
            with cluster(found, Path(directory), python, server) as running:
                report.say("ok", f"deploy/up ({monotonic() - began_s:.0f} s)")
                base = f"python:{python}-slim-bookworm"
                report.tried(
                    "image", lambda: trials.image_is_small_and_confined(found, running, base)
                )
                report.tried("bulk example", lambda: trials.the_example_runs(running))
                report.tried("API", lambda: trials.commands_reach_a_coordinator(running))
                report.tried("chaos", lambda: trials.nothing_is_lost(running))
                if report.failed:
                    report.say("", running.compose("logs", "--tail", "40"))
        except subprocess.SubprocessError as error:
            report.failed += 1
            notes = "\n".join(getattr(error, "__notes__", ()))
            report.say("FAILED", f"deploy/up: {error}\n{notes}".rstrip())


if __name__ == "__main__":
    sys.exit(main())
