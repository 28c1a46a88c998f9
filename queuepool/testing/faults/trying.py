"""try_faults: chooses faults, runs the scenario with each, and writes the ledger."""

from __future__ import annotations

import gc
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.tasks.registry import Registry, default_registry
from queuepool.testing.execution import refuse_a_running_loop
from queuepool.testing.faults.kinds import Fault, FaultKind
from queuepool.testing.faults.ledger import Finding, Ledger, compare, differences
from queuepool.testing.faults.trial import Outcome, Scenario, run_once

_AT_ENDS = (FaultKind.KILL, FaultKind.CANCEL, FaultKind.FORWARD, FaultKind.BACK)


def try_faults(
    scenario: Scenario,
    *,
    kinds: Iterable[FaultKind | str] = tuple(FaultKind),
    most: int = 500,
    seed: int = 0,
    registry: Registry = default_registry,
    partitions: int = 1,
    only: Iterable[Fault] | None = None,
) -> Ledger:
    """Run a scenario undisturbed, then again with each fault; return what that has shown.

    scenario: brings the world to its beginning, enqueues on the pool that it gets, and returns a
    function that returns what the handlers did: a list (the order matters), a Counter (it does
    not), a dict (each value by itself) or anything that can be compared and copied.
    most: runs at most so many faults, those at different lines first, the others by `seed`.
    only: exactly these, such as that of a finding.
    Raises InvalidInputError for a scenario that does not end, and twice in the same way.
    """
    chosen_kinds = [FaultKind(kind) for kind in kinds]
    if any(task.is_async for task in registry):
        refuse_a_running_loop()
    calm = _calm(scenario, registry, partitions)
    possible = [*only] if only is not None else _possible(calm, registry, chosen_kinds)
    chosen = _choose(possible, most, seed)
    tried: Counter[FaultKind] = Counter()
    findings: list[Finding] = []
    with _old_objects_left_alone():
        for fault in chosen:
            disturbed = run_once(scenario, registry, partitions, fault)
            if disturbed.reached:
                tried[fault.kind] += 1
                findings += compare(calm, fault, disturbed)
    return Ledger(len(calm.ends), dict(tried), tuple(findings), len(possible) - len(chosen))


@contextmanager
def _old_objects_left_alone() -> Iterator[None]:
    """Collect new garbage only: each run does, and a large test suite has many objects."""
    if gc.get_freeze_count():  # somebody else decides which objects these are
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _calm(scenario: Scenario, registry: Registry, partitions: int) -> Outcome:
    first = run_once(scenario, registry, partitions, None)
    if not first.ends:
        raise InvalidInputError("the scenario ran no job: enqueue some on the pool that it gets")
    if first.is_endless:
        raise InvalidInputError(_why_endless(first, registry))
    again = run_once(scenario, registry, partitions, None)
    for _verdict, detail in differences(first.state, again.state):
        raise InvalidInputError(
            f"the scenario ended differently when it ran again without a fault: {detail}. Reset "
            f"all state at its start, and leave times and random values out of what it returns"
        )
    return again


def _why_endless(outcome: Outcome, registry: Registry) -> str:
    ends = [*outcome.ends.values()]
    for end in ends:
        if end.unknown:
            known = ", ".join(sorted(task.name for task in registry)) or "none"
            return (
                f"the scenario enqueues jobs of task {shown(end.task)}, which is not registered "
                f"(known: {known}): import the module that defines it"
            )
    return f"the scenario never ends: jobs of {ends[-1].task!r} are repeated forever"


def _possible(calm: Outcome, registry: Registry, kinds: list[FaultKind]) -> list[Fault]:
    limited = {task.name for task in registry if task.timeout_s is not None}
    return [
        Fault(kind, place)
        for place in calm.places
        for kind in kinds
        if (kind in _AT_ENDS or not place.is_end)
        and (kind is not FaultKind.TIMEOUT or place.task in limited)
    ]


def _choose(faults: list[Fault], most: int, seed: int) -> list[Fault]:
    # The first two at each line come before others, which are drawn.
    seen: Counter[tuple[FaultKind, str, str]] = Counter()
    first: list[Fault] = []
    rest: list[Fault] = []
    for fault in faults:
        key = fault.kind, fault.place.task, fault.place.line
        seen[key] += 1
        (first if seen[key] <= 2 else rest).append(fault)
    draw = random.Random(seed)  # noqa: S311 - no secret
    draw.shuffle(rest)
    if len(first) > most:
        draw.shuffle(first)
    chosen = {id(fault) for fault in [*first, *rest][:most]}
    return [fault for fault in faults if id(fault) in chosen]
