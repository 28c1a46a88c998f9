"""The progress bar shown while waiting for a group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from queuepool.errors.escaping import visible
from queuepool.models import GroupStatus
from queuepool.telemetry import printing

Draw = Callable[[GroupStatus], None]


@contextmanager
def progress_bar(show: bool | None, title: str) -> Iterator[Draw]:
    """Yield a function that draws a status on standard error, or does nothing if not shown.

    show=None draws only on a terminal. Nothing appears before the first status.
    """
    if not (printing.remarks_are_on_terminal() if show is None else show):
        yield lambda _status: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    from queuepool.telemetry.consoles import AsideConsole

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TimeRemainingColumn(), TextColumn("{task.fields[extra]}"),
    )  # fmt: skip
    progress = Progress(*columns, console=AsideConsole(stderr=True))
    bar = progress.add_task(visible(title), total=None, extra="")
    with ExitStack() as drawn:

        def draw(status: GroupStatus) -> None:
            if not progress.live.is_started:
                drawn.enter_context(progress)
            counts = {
                "died": status.died,
                "cancelled": status.cancelled,
                "expired": status.expired,
            }
            extra = ", ".join(f"{n:,} {name}" for name, n in counts.items() if n)
            progress.update(
                bar, total=status.total, completed=status.total - status.left, extra=extra
            )

        yield draw
