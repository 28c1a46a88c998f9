"""What bounds the rows that miss a goal: the profile of each load, and its table."""

from __future__ import annotations

import pytest

from benchmarks.scale import bounds
from tests.paths import ROOT


def test_what_scripts_do_not_count_of_the_servers_time_is_io() -> None:
    assert bounds.Spent(30.0, 15.0, 20.0, 6.0, 10.0).cells() == [
        "30.0", "15.0", "20.0", "6.0", "10.0", "4.0",
    ]  # fmt: skip


@pytest.mark.thorough
@pytest.mark.server
def test_a_load_is_profiled_on_both_sides() -> None:
    (plain, listed), (ours, drained) = bounds.large(1, 2_000)  # CPU time comes in ticks of 10 ms

    assert (plain, ours) == ("a plain list, payloads of 1 kB", "drain, payloads of 1 kB")
    assert listed.commands_us == listed.lua_us == 0 < listed.all_us
    assert min(drained.all_us, drained.client_us, drained.commands_us, drained.lua_us) > 0


def test_the_page_has_a_profile_of_each_load() -> None:
    page = (ROOT / "docs" / "performance.md").read_text()
    table = page.partition("<!-- table: bounds")[2].partition("<!-- end of table -->")[0]

    for load in (
        "enqueue,",
        "drain,",
        "promotion and",
        "a plain list,",
        "a cycle,",
        *bounds._MODULES,
    ):
        assert f"| {load}" in table
