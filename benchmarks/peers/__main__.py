"""Measure other queues beside ours: `python -m benchmarks.peers`.

    --peers queuepool,celery-threads   which (default: all that take part in the chosen trials)
    --only drain,latency               which trials (default: all but crash)
    --runs 3 --scale 1.0               how often, and which share of the usual job counts
    --write                            put the tables into docs/

Writes every run as JSON after each trial, so an interrupted run loses one trial. A run in parts
adds to a file with --add; --show prints the tables of a file and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks.machine import describe_machine
from benchmarks.peers import summary
from benchmarks.peers.catalog import CATALOG, SPEED, Entry
from benchmarks.peers.envs import PeerError, default_folder, modules_of, prepare, program
from benchmarks.peers.stage import Launcher, Stage
from benchmarks.peers.trials import TRIALS, Bench
from queuepool.process.embedded import EmbeddedServerError
from tools import tables

_PACKAGE = "benchmarks.peers.adapters"
_NODE_ADAPTER = Path(__file__).parent / "adapters" / "bullmq.cjs"


def main(argv: list[str] | None = None) -> int:
    """Measure, keep, print, and write the docs when asked; 1 when anything failed."""
    flags = _parse(argv)
    document: dict[str, Any] = {"peers": {}}
    if (flags.show or flags.add) and flags.out.exists():
        document = json.loads(flags.out.read_text())
    failed: list[str] = []
    if not flags.show:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leave through the clean-up
        try:
            failed = _measure(flags, document)
        except PeerError as error:
            sys.stderr.write(f"peers: {error}\n")
            return 1
    _publish(document, write=flags.write and not failed)
    for line in failed:
        sys.stderr.write(f"failed: {line}\n")
    if failed and flags.write:
        sys.stderr.write("docs are unchanged: not every trial succeeded\n")
    return 1 if failed else 0


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument("--peers", default="", help=f"of {', '.join(CATALOG)}")
    parser.add_argument("--only", default=",".join(SPEED), help=f"of {', '.join(TRIALS)}")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual job counts")
    # Some queues look for what a dead worker held only every 100 s.
    parser.add_argument("--window", type=float, default=150.0, help="s to wait for missing jobs")
    parser.add_argument("--envs", type=Path, default=default_folder(), help="environments")
    parser.add_argument("--server", type=Path, help="server program (default: redis-server)")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/peers.json"))
    parser.add_argument("--add", action="store_true", help="keep what --out holds already")
    parser.add_argument("--show", action="store_true", help="measure nothing, show --out")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/")
    flags = parser.parse_args(argv)
    flags.only = flags.only.split(",")
    takes_part = [n for n, entry in CATALOG.items() if set(entry.trials) & set(flags.only)]
    flags.peers = flags.peers.split(",") if flags.peers else takes_part
    for chosen, known in ((flags.only, TRIALS), (flags.peers, CATALOG)):
        unknown = set(chosen) - set(known)
        if unknown:
            parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if flags.show and not flags.out.exists():
        parser.error(f"--show: there is no {flags.out}")
    flags.command = " ".join(["python -m benchmarks.peers", *(argv or sys.argv[1:])]).strip()
    return flags


def _measure(flags: argparse.Namespace, document: dict[str, Any]) -> list[str]:
    """Measure into the document; returns what failed, a line each."""
    benches = _benches(flags)  # all of them first: what is missing shows before the long part
    sitting = {"runs": flags.runs, "scale": flags.scale, "window_s": flags.window}
    if document["peers"] and any(document[name] != sitting[name] for name in sitting):
        raise PeerError(f"--add: {flags.out} was measured otherwise than with {sitting}")
    document |= sitting
    document["machine"] = describe_machine()
    document["date"] = datetime.now(UTC).date().isoformat()
    document.setdefault("commands", []).append(flags.command)
    failed: list[str] = []
    for name, bench in benches.items():
        about = _about(bench)
        document["machine"]["server"] = about.pop("server")
        record = document["peers"].setdefault(name, {"figures": {}, "foreign_cores": []})
        record |= {"title": bench.entry.title, **about}
        for trial in bench.entry.trials:
            if trial not in flags.only:
                continue
            began = monotonic()
            try:
                record["figures"] |= _repeated(bench, TRIALS[trial], flags.runs)
                line = f"{name}: {trial} took {monotonic() - began:.0f} s"
            except (PeerError, EmbeddedServerError) as error:
                line = f"{name}: {trial} failed: {error}"
                failed.append(line)
            record["foreign_cores"] += bench.foreign_cores
            bench.foreign_cores = []
            _keep(document, flags.out)
            print(line, file=sys.stderr, flush=True)
    return failed


def _benches(flags: argparse.Namespace) -> dict[str, Bench]:
    server = flags.server or Path(program("redis-server", "redis-server"))
    logs = flags.out.parent / "peers-logs"
    logs.mkdir(parents=True, exist_ok=True)
    benches = {}
    for name in flags.peers:
        launcher = _launcher(CATALOG[name], flags.envs, logs / f"{name}.log")
        benches[name] = Bench(CATALOG[name], launcher, server, flags.scale, flags.window)
    return benches


def _launcher(entry: Entry, envs: Path, log: Path) -> Launcher:
    interpreter = prepare(*entry.env, envs) if entry.env else [sys.executable]
    if entry.env and entry.env[0] == "node":
        modules = {"NODE_PATH": str(modules_of(*entry.env, envs))}
        return Launcher([*interpreter, str(_NODE_ADAPTER)], entry.variant, modules, log)
    return Launcher([*interpreter, "-m", _PACKAGE, entry.adapter], entry.variant, {}, log)


def _about(bench: Bench) -> dict[str, Any]:
    with Stage(bench.launcher, bench.server) as stage:
        return {**stage.about(), "server": stage.server_version()}


def _repeated(
    bench: Bench, trial: Callable[[Bench], dict[str, float | None]], runs: int
) -> dict[str, list[float | None]]:
    gathered: dict[str, list[float | None]] = {}
    for _ in range(runs):
        for figure, value in trial(bench).items():
            gathered.setdefault(figure, []).append(value)
    return gathered


def _keep(document: dict[str, Any], out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(document, indent=1) + "\n")


def _publish(document: dict[str, Any], *, write: bool) -> None:
    if summary.has(document, summary.SPEED_COLUMNS):
        print(summary.speed_text(document))
        if write:
            tables.write("peers", summary.speed_text(document), "performance.md")
    if summary.has(document, summary.CRASH_COLUMNS):
        print(summary.crash_text(document))
        if write:
            tables.write("peers", summary.crash_text(document), "reliability.md")


if __name__ == "__main__":
    sys.exit(main())
