"""One budget over all pools: each leader takes its part by itself, and together they fit."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.overlays.sharing import PoolUse, room_of
from coordinator.core.overlays.values import merged, parse
from queuepool.errors import InvalidInputError


def settled(
    total: int, wants: Mapping[str, int], shares: Mapping[str, int], *, late: int, base: int = 2
) -> list[dict[str, int]]:
    """Return what pools have, cycle by cycle, if each sees the others as they were before."""
    past = [dict.fromkeys(wants, base)]
    for _ in range(60):
        known = past[max(len(past) - 1 - late, 0)]
        after = {}
        for pool, wanted in wants.items():
            uses = {
                name: PoolUse(workers=known[name], waits=wants[name] > known[name], share=share)
                for name, share in shares.items()
            }
            own = past[-1][pool]
            uses[pool] = replace(uses[pool], workers=own, waits=wanted > own)
            after[pool] = min(wanted, max(room_of(pool, total, uses).workers, 1))
        past.append(after)
    return past


def test_what_fits_is_granted_and_what_others_leave_is_used() -> None:
    assert settled(100, {"default": 70, "video": 20}, {"default": 1, "video": 1}, late=0)[-1] == {
        "default": 70,
        "video": 20,
    }
    found = settled(100, {"default": 500, "video": 20}, {"default": 1, "video": 1}, late=0)[-1]
    assert found == {"default": 80, "video": 20}


def test_a_pool_that_wants_its_part_back_gets_it_at_once() -> None:
    uses = {
        "default": PoolUse(workers=95, waits=True),
        "video": PoolUse(workers=5, waits=True, share=3),
    }

    assert room_of("video", 100, uses).workers == 75
    uses["video"] = replace(uses["video"], workers=75)
    assert room_of("default", 100, uses).workers == 25


def test_pools_share_in_proportion() -> None:
    wants, shares = {"a": 900, "b": 900, "c": 900}, {"a": 1, "b": 2, "c": 5}

    assert settled(80, wants, shares, late=0)[-1] == {"a": 10, "b": 20, "c": 50}


@given(
    st.integers(10, 500),
    st.lists(st.tuples(st.integers(2, 600), st.integers(1, 9)), min_size=1, max_size=5),
    st.integers(0, 1),
)
def test_together_they_fit_after_a_few_cycles_and_nobody_has_less_than_its_part(
    total: int, pools: list[tuple[int, int]], late: int
) -> None:
    """Also if each knows of the others what they had a cycle ago."""
    wants = {f"p{n}": wanted for n, (wanted, _) in enumerate(pools)}
    shares = {f"p{n}": share for n, (_, share) in enumerate(pools)}

    past = settled(total, wants, shares, late=late)

    above = "".join("+" if sum(found.values()) > total else " " for found in past)
    assert max(map(len, above.split()), default=0) <= 1 + 2 * late, past
    for found in past[-10:]:
        assert sum(found.values()) <= total
        for name, workers in found.items():
            rounded = total * shares[name] // sum(shares.values())
            assert workers >= min(wants[name], rounded) - len(pools)  # others have at least one
    if late == 0:
        wanted = min(total, sum(wants.values()))
        assert sum(past[-1].values()) >= wanted


def test_what_cannot_be_taken_from_a_pool_is_a_part_of_its_own() -> None:
    uses = {
        "default": PoolUse(workers=12, waits=True, least=12),
        "tiny": PoolUse(workers=1, waits=False),
        "video": PoolUse(workers=15, waits=True, share=30),
    }

    assert [room_of(pool, 20, uses).workers for pool in uses] == [12, 1, 7]
    assert [room_of(pool, 9, uses).workers for pool in uses] == [12, 1, 1]


def test_the_budget_of_all_pools_is_set_in_one_place() -> None:
    assert parse(merged({}, {"total_budget": "300", "share": "2"})).total_budget == 300
    assert merged({}, {"share": "2"}, "video") == {"share": "2"}
    with pytest.raises(InvalidInputError, match="set it without a pool"):
        merged({}, {"total_budget": "300"}, "video")
    assert merged({"total_budget": "3"}, {"total_budget": ""}, "video") == {}
