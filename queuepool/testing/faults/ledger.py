"""What faults have shown: a run compared with the undisturbed one. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from queuepool.errors.escaping import visible
from queuepool.models import JobState
from queuepool.testing.execution import Ended
from queuepool.testing.faults.kinds import Fault, FaultKind, Verdict
from queuepool.testing.faults.trial import Outcome

_SHOWN = 5  # findings of each verdict
_LONGEST = 100  # characters of a value in a finding
_NONE: Any = object()


@dataclass(frozen=True, slots=True)
class Finding:
    """What one fault has shown. detail: what differs from the undisturbed run."""

    verdict: Verdict
    fault: Fault
    detail: str

    def __str__(self) -> str:
        return f"{self.verdict}: {self.detail} ({self.fault})"


@dataclass(frozen=True, slots=True)
class Ledger:
    """What was tried, and what it has shown. `print(ledger)` for people.

    tried: runs by kind of fault. left_out: faults that were not tried, to keep to the bound.
    """

    jobs: int
    tried: Mapping[FaultKind, int]
    findings: tuple[Finding, ...]
    left_out: int = 0

    @property
    def ok(self) -> bool:
        """Return whether no fault has shown anything."""
        return not self.findings

    def count(self, verdict: Verdict | str) -> int:
        """Return how many findings have this verdict."""
        return sum(each.verdict == verdict for each in self.findings)

    def check(self) -> None:
        """Raise AssertionError with the ledger if a fault has shown anything."""
        if not self.ok:
            raise AssertionError(f"faults of handlers\n{self}")

    def __str__(self) -> str:
        tried = ", ".join(f"{n} {kind}" for kind, n in self.tried.items())
        jobs = f"{self.jobs} job{'s' * (self.jobs != 1)}"
        lines = [f"{jobs}, {sum(self.tried.values())} runs with a fault each: {tried}"]
        if self.left_out:
            lines.append(f"{self.left_out} more faults were skipped")
        for verdict in Verdict:
            lines.append(f"{verdict:<14} {self.count(verdict):>4}")
            lines += [f"    {each.detail}\n        {each.fault}" for each in self._first(verdict)]
        return "\n".join(lines)

    def _first(self, verdict: Verdict) -> list[Finding]:
        # One of each line and kind of fault, in the order in which they were found.
        found: dict[object, Finding] = {}
        for each in self.findings:
            place = each.fault.place
            if each.verdict == verdict:
                found.setdefault((each.fault.kind, place.task, place.line), each)
        return [*found.values()][:_SHOWN]


def compare(calm: Outcome, fault: Fault, disturbed: Outcome) -> Iterator[Finding]:
    """Yield what a disturbed run has shown."""
    expected, ended = _ends(calm), _ends(disturbed)
    if fault.kind is FaultKind.CANCEL and expected != ended:
        return  # a job less, which was asked for
    different = False
    for task in sorted(expected.keys() | ended.keys()):
        lost = expected[task][0] - ended[task][0]
        if lost > 0:
            different = True
            yield Finding(Verdict.LOST, fault, _lost(task, lost, disturbed.ends.values()))
        elif (n := ended[task].total() - expected[task].total()) > 0:
            yield Finding(Verdict.TWICE, fault, f"{n} more of the jobs of {task} were enqueued")
    if not different:
        for verdict, detail in differences(calm.state, disturbed.state):
            yield Finding(verdict, fault, detail)


class _Ends(dict[str, "Counter[int]"]):
    def __missing__(self, task: str) -> Counter[int]:
        return Counter()


def _ends(outcome: Outcome) -> _Ends:
    # By task: how many of its jobs succeeded [0], and did not [1].
    ends = _Ends()
    for each in outcome.ends.values():
        ends.setdefault(each.task, Counter())[int(each.state is not JobState.DONE)] += 1
    return ends


def _lost(task: str, lost: int, ends: Any) -> str:
    last: list[Ended] = [e for e in ends if e.task == task and e.state is not JobState.DONE]
    why = "never ran to its end"
    if last:
        error = last[-1].error
        text = f"{error.type or error.reason}: {error.message}" if error else ""
        why = f"is {last[-1].state}: {_short(text)}" if text else f"is {last[-1].state}"
    return f"{lost} job{'s' * (lost != 1)} of {task} did not succeed: the last {why}"


def differences(calm: Any, disturbed: Any, at: str = "") -> Iterator[tuple[Verdict, str]]:
    """Yield how a state differs: lists as effects in order, Counters in any, dicts by key."""
    if type(calm) is type(disturbed) and isinstance(calm, Mapping):
        if isinstance(calm, Counter):
            yield from _counts(calm, disturbed, at)
            return
        for key in [*calm, *(key for key in disturbed if key not in calm)]:
            one, other = calm.get(key, _NONE), disturbed.get(key, _NONE)
            yield from differences(one, other, f"{at}[{key!r}]")
    elif isinstance(calm, list | tuple) and isinstance(disturbed, list | tuple):
        found = [*_counts(Counter(map(repr, calm)), Counter(map(repr, disturbed)), at, text=True)]
        yield from found
        if not found and [*map(repr, calm)] != [*map(repr, disturbed)]:
            detail = f"{_short(repr(disturbed))} instead of {_short(repr(calm))}"
            yield Verdict.OUT_OF_ORDER, f"{at}{': ' * bool(at)}{detail}"
    elif calm is _NONE or disturbed is _NONE or calm != disturbed:
        verdict = Verdict.LOST if disturbed is _NONE else Verdict.NOT_IDEMPOTENT
        detail = f"{_shown(disturbed)} instead of {_shown(calm)}"
        yield verdict, f"{at}{': ' * bool(at)}{detail}"


def _counts(
    calm: Counter[Any], disturbed: Counter[Any], at: str, *, text: bool = False
) -> Iterator[tuple[Verdict, str]]:
    for key in [*calm, *(key for key in disturbed if key not in calm)]:
        if calm[key] != disturbed[key]:
            verdict = Verdict.TWICE if disturbed[key] > calm[key] else Verdict.LOST
            name = _short(key if text else repr(key))
            times = f"{disturbed[key]} times instead of {calm[key]}"
            yield verdict, f"{at}{': ' * bool(at)}{name} {times}"


def _shown(value: Any) -> str:
    return "nothing" if value is _NONE else _short(repr(value))


def _short(text: str) -> str:
    text = visible(text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
