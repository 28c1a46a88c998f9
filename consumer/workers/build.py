"""Builds the workers of one ownership from the settings and the tasks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from consumer.core import pools
from consumer.core.jobs import ClaimedJob
from consumer.core.pools import Kind, PoolPlan
from consumer.settings import ConsumerSettings
from consumer.workers.dispatcher import ClosableWorkers, Dispatcher, Place, task_of
from consumer.workers.event_loop import HandlerLoop
from consumer.workers.runner import Runner
from consumer.workers.thread_pool import ThreadPool
from queuepool.errors import ConfigurationError
from queuepool.tasks.places import DEFAULT_POOL
from queuepool.tasks.registry import Registry
from queuepool.verbs.owner.verbs import Ownership

_log = logging.getLogger("consumer")


def check(settings: ConsumerSettings, registry: Registry) -> None:
    """Raise ConfigurationError, naming the tasks, if the pools cannot run them."""
    problems = pools.problems_of(registry, settings.pool_plans)
    if problems:
        raise ConfigurationError(*problems)
    for task, pool in pools.unplaced(registry, settings.pool_plans).items():
        _log.warning(
            "task %r names pool %r, which is not among CONSUMER_POOLS: it runs in %r",
            task, pool, DEFAULT_POOL,
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
    """Return the workers of one ownership. The default pool has none until it is resized."""

    def make(plan: PoolPlan) -> ClosableWorkers:
        if plan.kind is Kind.THREADS:
            return ThreadPool(runner, ring)
        if plan.kind is Kind.ASYNC:
            from consumer.workers.async_pool import AsyncPool

            return AsyncPool(runner, handlers, ring)
        return _processes(settings, ownership, runner, ring)

    plans = settings.pool_plans
    for plan in plans if settings.pools else ():
        _log.info("pool %s: %s, %d to %d", plan.name, plan.kind, plan.least, plan.most)
    made = {plan.name: make(plan) for plan in plans}
    if len(plans) == 1 and all(task.slots == 1 for task in registry):
        return made[DEFAULT_POOL]
    for plan in plans:
        if plan.name != DEFAULT_POOL:
            made[plan.name].resize(plan.least)
    return Dispatcher(made, _places(registry, plans))


def _processes(
    settings: ConsumerSettings, ownership: Ownership, runner: Runner, ring: Callable[[], None]
) -> ClosableWorkers:
    from consumer.workers.processes.bounds import Bounds
    from consumer.workers.processes.frames import Start
    from consumer.workers.processes.pool import ProcessPool

    start = Start(
        settings.app, ownership.partition, ownership.epoch, settings.log_format, settings.log_level
    )
    bounds = Bounds(settings.process_max_jobs, settings.process_max_rss_mb * 2**20)
    return ProcessPool(runner, start, bounds, ring)


def _places(registry: Registry, plans: Sequence[PoolPlan]) -> Callable[[ClaimedJob], Place]:
    def place_of(job: ClaimedJob) -> Place:
        name = task_of(job.body)
        task = registry.find(name) if name is not None else None
        return (DEFAULT_POOL, 1) if task is None else (pools.home(task, plans).name, task.slots)

    return place_of
