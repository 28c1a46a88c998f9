"""What an operator's call did, as an entry of the log. Pure."""

from __future__ import annotations

from typing import Any, Final

from coordinator.api.calls import LimitTarget, NamedTarget, TenantTarget, target_of
from queuepool.errors.escaping import key_text
from queuepool.models.log import LogEntry, LogKind
from queuepool.rpc.acting import told_by

# In the words of the command that does the same.
_WORDS: Final = {
    "SetWorkers": "scale", "ClearWorkers": "scale --auto", "Hold": "hold", "Release": "release",
    "ConfigureGroup": "group configure", "ConfigureTenant": "tenant configure",
    "SetLimit": "limit set", "PauseLimit": "limit pause", "RemoveLimit": "limit remove",
    "SetPolicy": "policy set", "CancelBatch": "flow cancel", "SetSchedule": "schedule set",
    "PauseSchedule": "schedule pause", "RunSchedule": "schedule run",
    "RemoveSchedule": "schedule remove", "ReplayJobs": "dead replay", "DiscardJobs": "dead discard",
    "RunJob": "job run", "EditJob": "job edit",
}  # fmt: skip
_IN_SUBJECT: Final = frozenset(
    (
        *("reason", "partition_key", "partition", "all", "tenant", "limit", "pool", "paused"),
        *("batch", "schedule", "task", "job_id", "filter", "payload"),
    )
)
# Of a schedule; never its payload or its unique key, which are beside the definition.
_OF_SCHEDULES: Final = ("task", "cron", "every_s", "timezone", "partition_key", "tenant", "tier")


def act_of(
    method: str, request: Any, answer: Any, *, result: str, actor: str, metadata: Any
) -> LogEntry:
    """Return the entry of a call. answer: None if it failed; result: its status code."""
    what = _WORDS.get(method, method)
    if method == "PauseLimit" and not request.paused:
        what = "limit resume"
    if method == "PauseSchedule" and not request.paused:
        what = "schedule resume"
    by = told_by(metadata)
    return LogEntry(
        kind=LogKind.ACT,
        what=what,
        subject=_subject(request),
        who=actor if by is None else by.who,
        via="gRPC" if by is None else f"{by.via or 'gRPC'}, {actor}",
        why=request.reason if by is None else by.why,
        outcome=f"failed: {result}" if answer is None else _outcome(answer),
    )


def _subject(request: Any) -> str:
    target = target_of(request)
    pool = getattr(request, "pool", "")
    match target:
        case LimitTarget(name):
            subject = f"limit {name}"
        case TenantTarget(name):
            subject = f"tenant {name}"
        case NamedTarget("jobs", name):
            subject = f"dead jobs {name}"
        case NamedTarget(kind, name):
            subject = f"{kind} {name}"
        case bytes():
            subject = f"group {key_text(target)}"
        case int():
            subject = f"partition {target}" + (f"/{pool}" if pool else "")
        case "all":
            subject = f"pool {pool}" if pool else "everything"
        case _:
            subject = f"scaling of pool {pool}" if pool else "scaling"
    of_schedule = isinstance(target, NamedTarget) and hasattr(request, "definition")
    fields = request.definition.ListFields() if of_schedule else request.ListFields()
    said = [
        f"{field.name}={value:g}" if isinstance(value, float) else f"{field.name}={value}"
        for field, value in fields
        if (
            field.name in _OF_SCHEDULES
            if of_schedule
            else field.name not in _IN_SUBJECT and field.name != "changes"
        )
    ]
    changes = dict(getattr(request, "changes", {}))
    said += [f"{name}={changes[name]}" for name in sorted(changes)]
    return f"{subject}: {' '.join(said)}" if said else subject


def _outcome(answer: Any) -> str:
    answer = getattr(answer, "change", answer)
    if "changed" not in answer.DESCRIPTOR.fields_by_name:
        return "done"
    changed = answer.changed
    if not changed:
        return "nothing changed"
    return "done" if changed is True else f"{changed:,} changed"
