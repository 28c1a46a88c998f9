"""Builds the workers of one ownership from the settings and the tasks."""

from __future__ import annotations

import logging
from collections.abc import Callable

from consumer.core import pools
from consumer.core.jobs import ClaimedJob
from consumer.settings import ConsumerSettings
from consumer.workers.dispatcher import ClosableWorkers, Dispatcher, task_of
from consumer.workers.event_loop import HandlerLoop
from consumer.workers.runner import Runner
from consumer.workers.thread_pool import ThreadPool
from queuepool.errors import ConfigurationError
from queuepool.models.places import partition_at
from queuepool.models.pools import Kind, PoolPlan
from queuepool.tasks.registry import Registry
from queuepool.verbs.owner.verbs import Ownership

_log = logging.getLogger("consumer")


def check(settings: ConsumerSettings, registry: Registry) -> None:
    """Raise ConfigurationError, naming the tasks, if their pools cannot run them."""
    problems = pools.problems_of(registry, settings.pool_plans)
    if problems:
        raise ConfigurationError(*problems)


def warn(settings: ConsumerSettings, registry: Registry) -> None:
    """Log the tasks whose pool is not among those of this process."""
    for task, pool in pools.unplaced(registry, settings.pool_plans).items():
        _log.warning(
            "task %r runs in pool %r, which is not among the pools here: its jobs "
            "wait for a consumer that runs it", task, pool,
        )  # fmt: skip


def build(
    settings: ConsumerSettings,
    registry: Registry,
    ownership: Ownership,
    *,
    runner: Runner,
    handlers: HandlerLoop,
    ring: Callable[[], None],
) -> ClosableWorkers:
    """Return the workers of one ownership: none until they are resized."""
    (plan,) = settings.pool_plans
    if settings.pools:
        _log.info("pool %s: %s, %d to %d", plan.name, plan.kind, plan.least, plan.most)
    pool = _pool(plan, settings, ownership, runner=runner, handlers=handlers, ring=ring)
    if all(task.slots == 1 for task in registry):
        return pool
    return Dispatcher(pool, _slots(registry))


def _pool(
    plan: PoolPlan,
    settings: ConsumerSettings,
    ownership: Ownership,
    *,
    runner: Runner,
    handlers: HandlerLoop,
    ring: Callable[[], None],
) -> ClosableWorkers:
    if plan.kind is Kind.THREADS:
        return ThreadPool(runner, ring)
    if plan.kind is Kind.ASYNC:
        from consumer.workers.async_pool import AsyncPool

        return AsyncPool(runner, handlers, ring)
    return _processes(settings, ownership, runner, ring)


def _processes(
    settings: ConsumerSettings, ownership: Ownership, runner: Runner, ring: Callable[[], None]
) -> ClosableWorkers:
    from consumer.workers.processes.bounds import Bounds
    from consumer.workers.processes.frames import Start
    from consumer.workers.processes.pool import ProcessPool

    start = Start(
        settings.app,
        partition_at(ownership.partition),
        ownership.epoch,
        settings.log_format,
        settings.log_level,
    )
    bounds = Bounds(settings.process_max_jobs, settings.process_max_rss_mb * 2**20)
    return ProcessPool(runner, start, bounds, ring)


def _slots(registry: Registry) -> Callable[[ClaimedJob], int]:
    def slots_of(job: ClaimedJob) -> int:
        name = task_of(job.body)
        task = registry.find(name) if name is not None else None
        return 1 if task is None else task.slots

    return slots_of
