"""Says in sentences why a partition has its workers. Pure.

Every number is stored, or computed from what is stored by the functions that decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from coordinator.core.model import Mode
from coordinator.decisions.stored import DecisionRecord, Outcome, Unsent
from coordinator.policy import figure_names
from coordinator.policy.sized import SizedPolicy, Work, size
from coordinator.policy.target_wait import TargetWaitPolicy, workers_for
from queuepool.models import PartitionState

_REPEATED = "it is repeated while that count is wanted"
_MOST: Final = 1e15  # of any figure; a larger one is damaged


def sentences(record: DecisionRecord) -> list[str]:
    """Return what was decided, from what, why, what was rejected, and what came of it."""
    return [
        _headline(record),
        *_inputs(record),
        *_computed(record),
        *_overlays(record),
        *_alternative(record),
        *_informed(record),
        *([] if record.outcome is None else [_outcome(record.outcome)]),
    ]


def seen_now(state: PartitionState) -> str:
    """Return what is seen at this moment, beside a stored decision that may be older."""
    owner = state.owner
    workers = "no consumer" if owner is None else f"{owner.workers} workers of which {owner.busy}"
    busy = "" if owner is None else " busy"
    return f"Seen now: {state.backlog} jobs ready, {state.in_flight} in flight, {workers}{busy}."


def alternative(record: DecisionRecord) -> tuple[int, str] | None:
    """Return the count that was rejected, and what rejected it; None if nothing was.

    With clamps, that is what the policy wanted, unless they led back to it; else it is to stay.
    """
    if record.moved:
        wanted = record.moved[0].before
        by = ", ".join(clamp.name for clamp in record.moved)
        return None if wanted == record.target else (wanted, by)
    if record.previous != record.target:
        return record.previous, record.policy
    return None


def named_figures(record: DecisionRecord) -> dict[str, float]:
    """Return what the policy computed with, by name; empty if another version stored it."""
    names = figure_names(record.policy)
    return (
        dict(zip(names, record.figures, strict=False)) if len(names) == len(record.figures) else {}
    )


def work_of(record: DecisionRecord) -> Work | None:
    """Return what `sized` computed with, None for other policies and for damaged figures."""
    figures = record.figures
    if record.policy != SizedPolicy.name or len(figures) != len(SizedPolicy.figure_names):
        return None
    per_s, service_s, unused, busy, waiting, drain_s, cycle_s = figures
    if not _are_sound(figures) or min(drain_s, cycle_s) <= 0:
        return None
    return Work(per_s, service_s, unused, int(busy), int(waiting), drain_s, cycle_s)


def _are_sound(figures: Sequence[float]) -> bool:
    return all(0 <= value <= _MOST for value in figures)


def _headline(record: DecisionRecord) -> str:
    by = {
        Mode.MANUAL: "set manually",
        Mode.OBSERVE: "first observation of a new leader, or after a gap",
        Mode.AUTOMATIC: f"policy {record.policy}, version {record.version}",
    }[record.mode]
    what = (
        f"It stayed at {record.target} workers"
        if record.previous == record.target
        else f"It went from {record.previous} to {record.target} workers"
    )
    return f"{what} ({by}): {record.reason}."


def _inputs(record: DecisionRecord) -> Iterator[str]:
    seen = record.inputs
    if seen is None:
        return
    yield (
        f"Seen: {seen.backlog} jobs ready, {seen.in_flight} in flight, {seen.workers} workers of "
        f"which {seen.busy} busy; {record.finished_per_s:.1f} executions ended per second."
    )
    if seen.reported != record.previous:
        yield f"The consumer's target was {seen.reported}, where {record.previous} were wanted."


def _computed(record: DecisionRecord) -> Iterator[str]:
    work = work_of(record)
    if work is not None:
        yield from _sized(work)
    elif record.policy == TargetWaitPolicy.name and len(record.figures) == len(
        TargetWaitPolicy.figure_names
    ):
        busy, waiting, service_s, wait_s = record.figures
        if _are_sound(record.figures) and wait_s > 0:
            needed = workers_for(int(waiting), service_s, wait_s)
            yield (
                f"{waiting:.0f} waiting jobs of {service_s:.3g} s within {wait_s:g} s need "
                f"{needed} workers, beside {busy:.0f} busy ones: {busy + needed:.0f}."
            )


def _sized(work: Work) -> Iterator[str]:
    yield (
        f"{work.per_s:.1f} jobs arrive per second and take {work.service_s:.3g} s of a worker "
        f"each, which keeps {work.steady:.1f} workers busy."
    )
    if work.unused:
        yield f"Limits grant more than is used: {work.unused:.1f} workers for parked jobs."
    if work.waiting:
        yield (
            f"{work.waiting} waiting jobs are {work.waiting_s:.1f} s of work, to be done within "
            f"{work.drain_s:g} s."
        )
    wanted = size(work)
    least = max(wanted.least, 0)
    yield f"So at least {least} workers are needed, and more than {wanted.most} would be idle."


def _overlays(record: DecisionRecord) -> Iterator[str]:
    for clamp in record.moved:
        verb = "raised" if clamp.after > clamp.before else "lowered"
        why = f": {clamp.why}" if clamp.why else ""
        yield f"{clamp.name} {verb} it from {clamp.before} to {clamp.after}{why}."
    if record.record_version:
        yield f"The scaling record had version {record.record_version}."


def _alternative(record: DecisionRecord) -> Iterator[str]:
    rejected = alternative(record)
    if rejected is None:
        return
    count, by = rejected
    if record.moved:
        who = "operator" if record.mode is Mode.MANUAL else "policy alone"
        yield f"The {who} wanted {count} workers; rejected by {by}."
        return
    yield f"The alternative, to stay at {count} workers, was rejected by {by}."
    work = work_of(record)
    if work is not None and record.target > count > work.steady and work.waiting:
        left_s = work.waiting_s / (count - work.steady)
        yield f"It would have taken {left_s:.1f} s for the waiting jobs."


def _informed(record: DecisionRecord) -> Iterator[str]:
    if record.unsent == Unsent.REFUSED:
        yield f"Its command could not be sent; {_REPEATED}."
    elif record.unsent:
        yield f"It is not known whether its command arrived; {_REPEATED}."
    elif record.command:
        yield f"Command {record.command} informed the consumer."


def _outcome(outcome: Outcome) -> str:
    cycles = f"{outcome.cycles} cycle" + ("" if outcome.cycles == 1 else "s")
    after = f"{cycles} later" if outcome.cycles else "At the next leader's first observation"
    return (
        f"{after}: {outcome.workers} workers of which {outcome.busy} busy, {outcome.backlog} jobs "
        f"ready, {outcome.finished_per_s:.1f} executions ended per second."
    )
