"""Which queues are measured, in which variants, by which trials, with how many jobs.

Slow queues get fewer jobs so that a trial takes seconds; rates do not depend on the count.
"""

from __future__ import annotations

from dataclasses import dataclass

SPEED = ("enqueue", "drain", "sleeping", "latency", "rival")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of the tables; `env` is (kind, name) in pins.toml, None is our own environment."""

    title: str
    adapter: str
    env: tuple[str, str] | None
    variant: str = ""
    trials: tuple[str, ...] = SPEED
    jobs: int = 10_000  # of enqueue and drain
    sleeping_jobs: int = 10_000


def _python(name: str) -> tuple[str, str]:
    return ("python", name)


_CRASH = ("crash",)

CATALOG: dict[str, Entry] = {
    "floor": Entry(title="*floor*", adapter="floor", env=None, jobs=100_000, sleeping_jobs=20_000),
    "queuepool": Entry(
        title="queuepool",
        adapter="queuepool",
        env=None,
        trials=(*SPEED, "crash"),
        jobs=100_000,
        sleeping_jobs=20_000,
    ),
    "bullmq": Entry(
        title="BullMQ (Node)",
        adapter="bullmq",
        env=("node", "bullmq"),
        jobs=20_000,
        sleeping_jobs=20_000,
    ),
    "celery-threads": Entry(
        title="Celery, threads", adapter="celery", env=_python("celery"), variant="threads"
    ),
    "celery-prefork": Entry(
        title="Celery, prefork",
        adapter="celery",
        env=_python("celery"),
        variant="prefork",
        jobs=5_000,
        sleeping_jobs=5_000,
    ),
    "dramatiq": Entry(title="Dramatiq", adapter="dramatiq", env=_python("dramatiq")),
    "rq-fork": Entry(
        title="RQ, fork",
        adapter="rq",
        env=_python("rq"),
        variant="fork",
        trials=("enqueue", "drain", "latency"),  # the others would take it minutes
        jobs=1_000,
    ),
    "rq-simple": Entry(
        title="RQ, simple",
        adapter="rq",
        env=_python("rq"),
        variant="simple",
        jobs=3_000,
        sleeping_jobs=2_000,
    ),
    "taskiq-list": Entry(
        title="taskiq, list", adapter="taskiq", env=_python("taskiq"), variant="list"
    ),
    "taskiq-stream": Entry(
        title="taskiq, stream", adapter="taskiq", env=_python("taskiq"), variant="stream"
    ),
    "huey": Entry(title="Huey", adapter="huey", env=_python("huey")),
    "saq": Entry(title="SAQ", adapter="saq", env=_python("saq")),
    "bullmq-watchful": Entry(
        title="BullMQ (Node)",
        adapter="bullmq",
        env=("node", "bullmq"),
        variant="watchful",
        trials=_CRASH,
    ),
    "celery-late": Entry(
        title="Celery, threads",
        adapter="celery",
        env=_python("celery"),
        variant="late",
        trials=_CRASH,
    ),
    "dramatiq-watchful": Entry(
        title="Dramatiq",
        adapter="dramatiq",
        env=_python("dramatiq"),
        variant="watchful",
        trials=_CRASH,
    ),
    "taskiq-watchful": Entry(
        title="taskiq, stream",
        adapter="taskiq",
        env=_python("taskiq"),
        variant="watchful",
        trials=_CRASH,
    ),
}
