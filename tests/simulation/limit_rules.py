"""Do limits bound what runs? Read from what ran, and from the calls as they were executed. Pure.

I11  more jobs of a limit at once than it allows, over all partitions and owners whose jobs can
     run: those of a dead owner until its successor has recovered them; or more admitted in a time
     than the rate, the burst and the documented slack allow. A call that a network executes
     twice admits twice, which is excused
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from queuepool.models import Limit
from queuepool.verbs import is_fenced
from tests.simulation.journal import Execution, Journal
from tests.simulation.ledger import Asked
from tests.simulation.scenario import Scenario

_ANY = 10**9
_TOKEN_S = 2.0  # for how long a token may be used
_SETTLED_S = (6.0, 40.0)  # until which a change is known by all owners: without faults, with them
_LATENCY_S = 1.1  # of replies, behind which tokens are used


@dataclass(frozen=True, slots=True)
class Defined:
    """What a limit allowed from a time on."""

    since_s: float
    limit: Limit


def limit_violations(
    scenario: Scenario, asked: Sequence[Asked], journals: Sequence[Journal]
) -> list[str]:
    """Return where limits were passed. journals: of all partitions."""
    limits, found = scenario.limits, list[str]()
    excused = {name for journal in journals for name in journal.admitted_twice}
    for limit in limits.code if limits else ():
        if limit.name in excused:
            journals[0].seen["excused"] += 1
            continue
        history = [Defined(0.0, limit), *_changes(limit.name, asked)]
        found += _at_once(limit.name, history, journals, settled_s=_SETTLED_S[_faulty(scenario)])
        found += _admitted(limit.name, history, journals, slack_s=_slack_s(scenario))
    return found


def _faulty(scenario: Scenario) -> bool:
    return not scenario.faults.none


def _slack_s(scenario: Scenario) -> float:
    """A token is used within 2 s of when its reply was read, which stalls may delay."""
    faults = scenario.faults
    stalls = max((length for _, length in faults.stalls), default=0.0)
    strays = 0.0 if faults.none else 3.5  # lost turns may be executed late
    return _TOKEN_S + (_LATENCY_S if _faulty(scenario) else 0.1) + stalls + strays


def _changes(name: str, asked: Sequence[Asked]) -> Iterator[Defined]:
    for call in asked:
        if call.verb.script == "set_limit" and call.verb.args[0] == name and call.reply == 1:
            limit = Limit.from_definition(name, str(call.verb.args[1]))
            if limit is not None:
                yield Defined(call.at_s, limit)


def _at_once(
    name: str, history: Sequence[Defined], journals: Sequence[Journal], *, settled_s: float
) -> Iterator[str]:
    spans: list[tuple[float, float, int, bytes]] = []
    for number, journal in enumerate(journals):
        over_s = _over_s(journal)
        spans += [
            (e.start_s, _end_s(e, over_s), number, e.job_id)
            for e in journal.executions
            if name in journal.limits_of.get(e.job_id, ()) and e.job_id not in journal.disturbed
        ]
    spans.sort()
    running: list[tuple[float, float, int, bytes]] = []
    for span in spans:
        start_s = span[0]
        running = [other for other in running if other[1] > start_s]
        if span[1] <= start_s:
            continue  # of an owner that was over
        running.append(span)
        most = max(
            d.limit.concurrency or _ANY
            for d, following in zip(history, [*history[1:], None], strict=True)
            if following is None or following.since_s > start_s - settled_s
        )
        if len(running) > most:
            jobs = [(number, job_id) for _, _, number, job_id in running]
            yield f"I11: {len(running)} jobs of {name} ran at {start_s:.3f}, of {most}: {jobs}"


def _over_s(journal: Journal) -> dict[int, float]:
    """When no job of an ownership could run any more, as far as the server could know."""
    over = dict(journal.lost_s)
    for record in journal.records or ():
        if record.recovering is None or is_fenced(record.reply):
            continue
        if record.verb.script == "recover" and record.recovering not in journal.gave_up:
            over[record.recovering] = record.at_s
    return over


def _end_s(execution: Execution, over_s: dict[int, float]) -> float:
    ends = (execution.end_s, execution.killed_s, over_s.get(execution.epoch))
    return min((at_s for at_s in ends if at_s is not None), default=float("inf"))


def _admitted(
    name: str, history: Sequence[Defined], journals: Sequence[Journal], *, slack_s: float
) -> Iterator[str]:
    rates = [d.limit for d in history if d.limit.rate]
    if len(rates) < len(history):
        return  # for a while it had none
    each = max(
        float(limit.rate) / limit.per_s
        for limit in rates
        if limit.rate != "adaptive" and limit.rate
    )
    burst = max(limit.burst or max(1, round(each)) for limit in rates)
    times = sorted(_admissions(name, journals))
    for i, begin_s in enumerate(times):
        for end_s in times[i:]:
            n = bisect_right(times, end_s) - i
            if n > each * (end_s - begin_s + slack_s) + burst + 1:
                yield (
                    f"I11: {n} jobs of {name} were admitted from {begin_s:.3f} to {end_s:.3f}, "
                    f"at {each:.0f} a second and a burst of {burst}"
                )
                return


def _admissions(name: str, journals: Sequence[Journal]) -> Iterator[float]:
    for journal in journals:
        for record in journal.records or ():
            if record.verb.script != "admit" or is_fenced(record.reply):
                continue
            gate = record.verb.args[2]
            assert isinstance(gate, bytes)
            if name in gate.decode().split(","):
                yield from [record.at_s] * record.reply[0]
