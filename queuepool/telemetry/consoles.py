"""Consoles that do not end the process when nobody reads what they write. Imports rich."""

from __future__ import annotations

from rich.console import Console


class PipeConsole(Console):
    """Raises BrokenPipeError, as `print` does, where rich would exit with a code of its own."""

    def on_broken_pipe(self) -> None:
        """Raise the error again that is being handled."""
        raise  # noqa: PLE0704 - rich calls this in its `except`


class AsideConsole(Console):
    """For what is drawn beside the work: falls silent, and the work goes on."""

    def on_broken_pipe(self) -> None:
        """Draw nothing more."""
        self.quiet = True
