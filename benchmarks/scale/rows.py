"""A row of the table: a figure beside its goal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured. goal: at most this."""

    what: str
    figure: float
    goal: float
    unit: str

    @property
    def is_met(self) -> bool:
        """Return whether the goal is met."""
        return self.figure <= self.goal

    def cells(self) -> list[str]:
        """Return it as cells of a table."""
        unit = f" {self.unit}".rstrip()
        met = "met" if self.is_met else "**missed**"
        return [self.what, f"{self.figure:,.3g}{unit}", f"{self.goal:,.3g}{unit}", met]
