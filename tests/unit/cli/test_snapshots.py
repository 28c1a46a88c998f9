"""What commands print at 60, 80, 120 and 140 columns is as in the snapshots, and nothing is cut."""

from __future__ import annotations

from typing import Any

import pytest
from rich.cells import cell_len

from queuepool.cli.commands import dead
from queuepool.cli.display.tables import draw
from tests.unit.cli.pictures import (
    HERE,
    LONG,
    LONG_GROUP,
    LONG_ID,
    PICTURES,
    SHORT,
    WIDTHS,
    file_of,
    picture,
    printed,
)


@pytest.mark.parametrize("name", PICTURES)
def test_what_is_printed_is_as_in_the_snapshot(name: str) -> None:
    assert picture(name) == file_of(name).read_text(), (
        "look at the difference: python -m tests.unit.cli.pictures --write"
    )


def test_every_snapshot_is_of_a_command() -> None:
    assert {file.stem for file in HERE.iterdir()} == set(PICTURES)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PICTURES)
def test_what_identifies_and_counts_is_never_cut(name: str, width: int) -> None:
    text = printed(name, width)

    assert [part for part in PICTURES[name][1] if part not in text] == []


@pytest.mark.parametrize("width", range(50, 200, 7))
def test_a_table_fits_unless_one_identifier_does_not(width: int) -> None:
    for found in (SHORT, LONG):
        lines = draw(dead.COLUMNS, [dead.cells(job) for job in found], width)

        wide: list[Any] = [line.plain for line in lines if cell_len(line.plain) > width]
        assert all(line.strip() == LONG_ID or LONG_GROUP in line for line in wide), wide
