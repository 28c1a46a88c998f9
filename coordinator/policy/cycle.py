"""The few lines that every policy needs: holding, and counting observed time."""

from dataclasses import replace

from coordinator.policy.model import Decision, Limits, PolicyState, Reading

MISSING = "no fresh observation, so nothing changes"
FIRST = "first observation, nothing to compare with yet"


def bounded(
    state: PolicyState,
    previous: int,
    limits: Limits,
    reason: str,
    clamps: tuple[str, ...] = (),
) -> Decision:
    """Return the decision for `state.target`, moved inside the limits where it is outside."""
    target, bound = limits.clamp(state.target)
    return Decision(
        target=target,
        previous=previous,
        reason=reason,
        clamps=clamps + tuple(name for name in bound if name not in clamps),
        state=replace(state, target=target),
    )


def observed_s(reading: Reading, last_at_s: float | None, cycle_s: float) -> float:
    """Return the seconds that this reading adds to what was observed, at most one cycle.

    A gap in the observations therefore counts as one cycle, however long it was: nobody
    knows what happened in it, so neither a hold nor a decay may run through it.
    """
    if last_at_s is None:
        return 0.0
    return min(max(reading.at_s - last_at_s, 0.0), cycle_s)
