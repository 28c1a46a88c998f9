"""Run seeds of the simulation.

python -m tests.simulation                     10,000 seeds, on all cores
python -m tests.simulation --seeds 500 --from 7000
python -m tests.simulation --real --seeds 50   over the real scripts on a bundled server
python -m tests.simulation --seed 42 --trace   one seed again, step by step
python -m tests.simulation --moves --seeds 100 slots that move while everything else goes on
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from queuepool.process.embedded import EmbeddedServer
from tests.simulation.moves import simulate_moves
from tests.simulation.simulation import simulate

_BLOCK = 25
Summary = tuple[int, list[str], dict[str, int], int, float]


def main() -> int:
    """Run what the command line asks for; returns 0 when every promise was kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seed", type=int, help="run this one only")
    parser.add_argument("--trace", action="store_true", help="show every step of --seed")
    parser.add_argument("--seeds", type=int, default=10_000, help="how many (10,000)")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first of them (0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at a violation")
    parser.add_argument("--real", action="store_true", help="over the real scripts on a server")
    parser.add_argument("--moves", action="store_true", help="slots that move, in one process")
    options = parser.parse_args()
    if options.moves:
        first = options.first if options.seed is None else options.seed
        return _moves(first, options.seeds if options.seed is None else 1)
    if options.real:
        first = options.first if options.seed is None else options.seed
        return _real(first, options.seeds if options.seed is None else 1)
    if options.seed is not None:
        return _one(options.seed, trace=options.trace)
    return _many(options.first, options.seeds, options.jobs, keep_going=options.keep_going)


def replay(seed: int) -> str:
    """Return the command that shows a seed again."""
    return f"python -m tests.simulation --seed {seed} --trace"


def _say(text: object, end: str = "\n") -> None:
    sys.stdout.write(f"{text}{end}")
    sys.stdout.flush()


def _moves(first: int, seeds: int) -> int:
    logging.disable(logging.WARNING)  # of servers that do not answer
    for seed in range(first, first + seeds):
        if problems := simulate_moves(seed):
            sys.stdout.write("\n  ".join((f"seed {seed}:", *problems)) + "\n")
            return 1
    sys.stdout.write(f"{seeds:,} seeds, and every promise was kept\n")
    return 0


def _one(seed: int, *, trace: bool) -> int:
    def show(at_s: float, who: str, what: str) -> None:
        _say(f"{at_s:9.4f}  {who:<14} {what}")

    result = simulate(seed, trace=show if trace else None)
    _say(result.scenario)
    _say(f"seed {seed}: {result.events} events in {result.virtual_s:.1f} virtual s")
    _say(f"{len(result.journal.executions)} executions; {dict(result.journal.seen)}")
    for violation in result.violations:
        _say(f"VIOLATION  {violation}")
    return 1 if result.violations else 0


def _real(first: int, count: int) -> int:
    failed = 0
    with EmbeddedServer(appendonly=False) as server:
        for seed in range(first, first + count):
            result = simulate(seed, url=server.url, stage=f"seed-{seed}")
            failed += bool(result.violations)
            found = "; ".join(result.violations[:3]) or "clean"
            _say(f"seed {seed}: {result.events} events on a real server: {found}")
    _say(f"{count} seeds, {failed} with a violation")
    return 1 if failed else 0


def _many(first: int, count: int, jobs: int, *, keep_going: bool) -> int:
    begun_s, failed, seen = time.monotonic(), 0, Counter[str]()
    ran, events, virtual_s = 0, 0, 0.0
    with ProcessPoolExecutor(jobs) as processes:
        seeds = range(first, first + count)
        for summary in processes.map(_summary, seeds, chunksize=_BLOCK):
            seed, violations, happened, n, length_s = summary
            ran, events, virtual_s = ran + 1, events + n, virtual_s + length_s
            seen.update(happened)
            if violations:
                failed += 1
                _say(f"\nseed {seed}: {violations[0]}\n  replay: {replay(seed)}")
                if failed >= 5 and not keep_going:
                    processes.shutdown(cancel_futures=True)
                    break
            if ran % _BLOCK == 0 or ran == count:
                took_s = time.monotonic() - begun_s
                line = f"{ran:,} of {count:,} seeds, {failed} with a violation, {took_s:.0f} s"
                _say(line, end="\r" if sys.stdout.isatty() else "\n")
    _say(f"\n{ran:,} seeds, {events:,} events, {virtual_s / 3600:.1f} virtual hours")
    _say(", ".join(f"{name} {times:,}" for name, times in sorted(seen.items())))
    return 1 if failed else 0


def _summary(seed: int) -> Summary:
    result = simulate(seed)
    return seed, result.violations, dict(result.journal.seen), result.events, result.virtual_s


if __name__ == "__main__":
    sys.exit(main())
