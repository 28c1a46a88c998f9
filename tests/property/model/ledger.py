"""M2 and M3 on the models of two partitions: no job is lost, and totals count each job once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.property.model.state import State


class Ledger:
    """What was accepted, by birth and by group, less what groups had when they were forgotten."""

    def __init__(self) -> None:
        self._group_of: dict[int, bytes] = {}
        self._owed: dict[bytes, int | None] = {}  # None: it was forgotten on its way

    def check(self, states: Sequence[State], on_their_way: set[bytes]) -> None:
        """Fail unless each job is somewhere or has ended; and totals are right of what stays."""
        for job in (job for s in states for job in s.jobs.values()):
            if job.birth not in self._group_of:
                self._group_of[job.birth] = job.group
                owed = self._owed.get(job.group, 0)
                self._owed[job.group] = None if owed is None else owed + 1
        found = Counter(job.birth for s in states for job in s.jobs.values())
        found.update(birth for s in states for birth in s.ended)
        lost = self._group_of.keys() - found.keys()
        assert not lost, f"M2: lost {lost}"
        ended = Counter(birth for s in states for birth in s.ended)
        again = {birth for birth in ended if found[birth] > 1}
        assert not again, f"M2: {again} ended, and are elsewhere too"
        for group in self._owed.keys() - on_their_way:
            total = sum(s.groups[group].total for s in states if group in s.groups)
            owed = self._owed[group]
            assert owed in (None, total), f"M3: {group!r} counts {total} jobs of {owed}"
            self._owed[group] = total

    def forgot(self, group: bytes, total: int, *, on_its_way: bool) -> None:
        """Note that a partition forgot a group without jobs, and its total."""
        owed = self._owed.get(group, 0)
        self._owed[group] = None if on_its_way or owed is None else owed - total
