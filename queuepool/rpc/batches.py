"""Batches and flows as messages of the API. Pure."""

from __future__ import annotations

from queuepool.models.flows import BatchLine, BatchState, BatchStatus, FlowStatus, StepStatus
from queuepool.rpc.jobs import number, text
from queuepool.rpc.v1 import batch_pb2


def batch_line(line: BatchLine) -> batch_pb2.Batch:
    """Return a batch in a list."""
    return batch_pb2.Batch(
        name=text(line.name),
        state=str(line.state),
        called=text(line.called),
        total=number(line.total),
        done=number(line.done),
        dead=number(line.dead),
        lost=number(line.lost),
        deadline_ms=number(line.deadline_ms),
        created_ms=number(line.created_ms),
    )


def batch(status: BatchStatus) -> batch_pb2.Batch:
    """Return a batch with all that is known of it."""
    is_open = status.state is BatchState.OPEN
    return batch_pb2.Batch(
        name=text(status.name),
        state=str(status.state),
        called=text(status.called),
        total=number(status.total),
        done=number(status.done),
        dead=number(status.dead),
        lost=number(status.lost),
        deadline_ms=number(status.deadline_ms),
        created_ms=number(status.created_ms),
        ended_ms=None if is_open or status.ended_ms is None else number(status.ended_ms),
        job_id=text(status.job_id),
        on_failure=status.on_failure,
        on_deadline=status.on_deadline,
        sealed=status.sealed,
        by_deadline=status.by_deadline,
        within=text(status.within or ""),
        inner=map(text, status.inner),
    )


def flow_steps(status: FlowStatus) -> list[batch_pb2.FlowStep]:
    """Return the steps of a flow."""
    return [_step(step) for step in status.steps]


def _step(step: StepStatus) -> batch_pb2.FlowStep:
    return batch_pb2.FlowStep(
        name=text(step.name),
        task=text(step.task),
        state=str(step.state),
        after=map(text, step.after),
        total=number(step.total),
        done=number(step.done),
        dead=number(step.dead),
        lost=number(step.lost),
        batch=text(step.batch),
        deadline_ms=None if step.deadline_ms is None else number(step.deadline_ms),
    )
