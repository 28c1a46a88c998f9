"""What `make test` tries a part of, and `make test-slow` all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from zlib import crc32

import pytest
from hypothesis import settings


def first_of(cases: Iterable[Any]) -> list[Any]:
    """Return parameters of a test of which `make test` tries the first only.

    For those that prove that another test can fail: each breaks something and waits for it to show.
    """
    first, *others = cases
    rest = (pytest.param(*_values(case), marks=pytest.mark.slow) for case in others)
    return [first, *rest]


def one_in(n: int, cases: Iterable[Any]) -> list[Any]:
    """Return parameters of a test of which `make test` tries each n-th."""
    return [
        case if number % n == 0 else pytest.param(*_values(case), marks=pytest.mark.slow)
        for number, case in enumerate(cases)
    ]


def part_of_examples(share: float) -> settings:
    """Return how many examples a property gets that is dear, or one of many alike."""
    return settings(max_examples=max(1, round(settings().max_examples * share)))


def _values(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)


def share_between_engines(items: Iterable[pytest.Item], engines: frozenset[str]) -> None:
    """Give each case of a test marked `either_engine` to one engine; the others are slow.

    Which one depends on the case's name alone, so that each engine tries half of the cases.
    """
    ordered = sorted(engines)
    for item in items:
        if item.get_closest_marker("either_engine") is None:
            continue
        found = [name for name in ordered if name in _words(item)]
        if not found:
            continue
        plain = item.nodeid.replace(found[0], "")
        if ordered[crc32(plain.encode()) % len(ordered)] != found[0]:
            item.add_marker(pytest.mark.slow)


def _words(item: pytest.Item) -> str:
    return item.name.partition("[")[2]
