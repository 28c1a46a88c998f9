"""How much of its machine is in use: of a container's limits (cgroup v2), or of the whole machine.

What is short is what counts, so the larger share of both is reported. Where neither can be read,
nothing is, and a coordinator guards nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic

_MOST_BYTES = 65_536  # of a file
_NUMBER = re.compile("[0-9]{1,18}")
_LEAST_S = 0.5  # between two looks at the CPU: shorter ones say little


class Machine:
    """Measures on demand. Used by one thread. root: where `proc` and `sys` are."""

    def __init__(self, root: Path = Path("/"), clock: Callable[[], float] = monotonic) -> None:
        self._proc, self._group = root / "proc", root / "sys/fs/cgroup"
        self._clock = clock
        self._cpu = ""
        self._last_s = clock()
        self._last = self._times()

    def load(self) -> str:
        """Return the percents in use of CPU, since the last call, and of memory: "42:63"."""
        now_s = self._clock()
        if now_s - self._last_s >= _LEAST_S:
            before, self._last = self._last, self._times()
            self._cpu = _percent(self._cpu_shares(before, now_s - self._last_s))
            self._last_s = now_s
        return f"{self._cpu}:{_percent(self._memory_shares())}"

    def _times(self) -> tuple[list[int], int | None]:
        """Return the machine's times of CPU by kind, and the microseconds that the group used."""
        words = _read(self._proc / "stat").partition("\n")[0].split()[1:9]
        return _whole(words), _fields(self._group / "cpu.stat").get("usage_usec")

    def _cpu_shares(self, before: tuple[list[int], int | None], passed_s: float) -> list[float]:
        shares = list[float]()
        (old, used_before), (new, used) = before, self._last
        passed = sum(new) - sum(old)
        if len(new) == len(old) >= 5 and passed > 0:
            idle = new[3] + new[4] - old[3] - old[4]  # with waiting for disks
            shares.append(1 - idle / passed)
        quota = _whole(_read(self._group / "cpu.max").split())
        if len(quota) == 2 and min(quota) > 0 and used is not None and used_before is not None:
            shares.append((used - used_before) / 1e6 / (passed_s * quota[0] / quota[1]))
        return shares

    def _memory_shares(self) -> list[float]:
        shares = list[float]()
        words = [line.split() for line in _read(self._proc / "meminfo").splitlines()]
        sizes = {
            line[0]: int(line[1]) for line in words if len(line) > 1 and _NUMBER.fullmatch(line[1])
        }
        total, free = sizes.get("MemTotal:", 0), sizes.get("MemAvailable:")
        if total and free is not None:
            shares.append(1 - free / total)
        most, now = (_whole(_read(self._group / f"memory.{n}").split()) for n in ("max", "current"))
        if most and now and most[0] > 0:
            cached = _fields(self._group / "memory.stat").get("inactive_file", 0)
            shares.append((now[0] - cached) / most[0])
        return shares


def _percent(shares: list[float]) -> str:
    return f"{100 * min(max(*shares, 0.0), 1.0):.0f}" if shares else ""


def _whole(words: list[str]) -> list[int]:
    return [int(word) for word in words] if all(map(_NUMBER.fullmatch, words)) else []


def _fields(path: Path) -> dict[str, int]:
    pairs = [line.split() for line in _read(path).splitlines()]
    return {
        pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and _NUMBER.fullmatch(pair[1])
    }


def _read(path: Path) -> str:
    with suppress(OSError, ValueError), path.open(encoding="ascii") as file:
        return file.read(_MOST_BYTES)
    return ""
