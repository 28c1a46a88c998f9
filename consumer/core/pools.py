"""Checks that tasks fit into the pools of a consumer. Pure.

A consumer runs its pools side by side. Each has lanes, a lease and an owner of its own; jobs for
any other pool wait for a consumer that has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from queuepool.models.pools import Kind, PoolPlan

if TYPE_CHECKING:
    from queuepool.tasks.registry import Task


def problems_of(tasks: Iterable[Task], plans: Sequence[PoolPlan]) -> list[str]:
    """Return a sentence for each task that its pool, if it is among these, cannot run."""
    problems, by_name = [], {plan.name: plan for plan in plans}
    for task in tasks:
        plan = by_name.get(task.pool)
        if plan is None:
            continue
        if plan.kind is Kind.ASYNC and not task.is_async:
            problems.append(
                f"task {task.name!r} is a plain function, and its pool {plan.name!r} is of kind "
                "async, whose event loop it would block: make it `async def`, or use kind threads "
                "or process"
            )
        if task.slots > plan.most:
            problems.append(
                f"task {task.name!r} takes slots={task.slots}, and its pool {plan.name!r} has at "
                f"most {plan.most}: lower slots or enlarge the pool"
            )
    return problems


def unplaced(tasks: Iterable[Task], plans: Iterable[PoolPlan]) -> dict[str, str]:
    """Return the tasks whose pool is not among these, with its name: their jobs wait for it."""
    names = {plan.name for plan in plans}
    return {task.name: task.pool for task in tasks if task.pool not in names}
