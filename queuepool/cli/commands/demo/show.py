"""What people see of the demo: a live view or plain lines, and the summary."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from queuepool.cli.commands.demo.ledger import Ledger, percentile
from queuepool.cli.display import output
from queuepool.cli.display.board import Board, plain_line
from queuepool.cli.display.view import ClusterView
from queuepool.telemetry import printing

if TYPE_CHECKING:
    from rich.live import Live

_LINE_EVERY_S = 2.0


class Show:
    """Draws on standard error: a live table on a terminal, else a line every two seconds."""

    def __init__(self, ledger: Ledger, *, live: bool) -> None:
        self._ledger = ledger
        self._board = Board()
        self._live: Live | None = None
        self._last_line_s = float("-inf")
        self._started_s = time.monotonic()
        if live and printing.remarks_are_on_terminal():
            from rich.live import Live

            self._live = Live(console=output.remark_console(), auto_refresh=False)

    def __enter__(self) -> Show:
        self._context().__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        self._context().__exit__(*failure)

    def _context(self) -> AbstractContextManager[Any]:
        return self._live or nullcontext()

    def say(self, text: str) -> None:
        """Show a remark; above the live view, if there is one."""
        if self._live is not None:
            self._live.console.print(output.styled(text))
        else:
            output.remark(text)

    def update(self, view: ClusterView, phase: str) -> None:
        """Show the latest view."""
        self._board.note(view)
        if self._live is not None:
            from rich.console import Group

            width = self._live.console.width
            drawn = self._board.draw(view, sparks=True, width=width)
            below = (output.styled(phase), output.styled(self._small_groups()))
            self._live.update(Group(drawn, *below), refresh=True)
            return
        now_s = time.monotonic()
        if now_s - self._last_line_s >= _LINE_EVERY_S:
            self._last_line_s = now_s
            output.remark(
                f"{now_s - self._started_s:5.1f}s {plain_line(view)} | {self._small_groups()}"
            )

    def _small_groups(self) -> str:
        waits = self._ledger.waits_s()
        return (
            f"{len(waits)} small groups waited {_seconds(waits, 0.5)}, p99 {_seconds(waits, 0.99)}"
        )


def _seconds(waits: list[float], share: float) -> str:
    value = percentile(waits, share)
    return "-" if value is None else f"{value * 1000:.0f} ms"


def summary_text(summary: dict[str, Any]) -> str:
    """Return the summary for people."""
    peaks = ", ".join(f"{n}: {peak}" for n, peak in summary["per_partition_worker_peak"].items())
    verdict = "nothing was lost" if not summary["lost"] else f"{summary['lost']:,} JOBS WERE LOST"
    return "\n".join(
        (
            f"{summary['items']:,} jobs in {summary['seconds']:.1f} s: {verdict}, "
            f"{summary['duplicates']:,} ran twice",
            f"bulk actions: {summary['bulk_items']:,} jobs; worker peaks by partition: {peaks}; "
            f"{summary['workers_at_end']} workers in all at the end",
            f"small groups of 10 while it ran: {summary['small_groups']}, waited "
            f"{_text(summary['small_group_wait_p50_s'])} (p99 "
            f"{_text(summary['small_group_wait_p99_s'])}) until their last job had started",
            f"scaling commands sent: {summary['commands_sent']}",
        )
    )


def _text(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1000:.0f} ms"
