"""One budget over all partitions: never exceeded, in proportion, and calm."""

from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.overlays.budget import Ask, divide


def asks(*given: tuple[int, int, int]) -> list[Ask]:
    return [
        Ask(partition=n, asked=asked, base=base, before=before)
        for n, (asked, base, before) in enumerate(given)
    ]


def test_what_fits_is_granted() -> None:
    assert divide(96, 0, asks((40, 8, 8), (56, 8, 8))) == {0: 40, 1: 56}


def test_the_rest_goes_in_proportion_to_what_is_asked_above_the_base() -> None:
    # 96 - 4 x 8 = 64 for 56 + 24 + 0 + 80 = 160 asked above the bases
    shares = divide(96, 0, asks((64, 8, 8), (32, 8, 8), (8, 8, 8), (88, 8, 8)))

    assert shares == {0: 8 + 22, 1: 8 + 10, 2: 8, 3: 8 + 32}
    assert sum(shares.values()) == 96


def test_what_nobody_can_change_is_taken_first() -> None:
    assert divide(50, 30, asks((40, 8, 20), (8, 8, 8))) == {0: 12, 1: 8}


def test_a_budget_below_the_bases_is_shared_by_them_and_leaves_everyone_one() -> None:
    assert divide(8, 0, asks((9, 9, 9), (9, 3, 9), (1, 1, 1))) == {0: 5, 1: 2, 2: 1}
    assert divide(1, 5, asks((9, 9, 9), (9, 3, 9))) == {0: 1, 1: 1}


def test_a_small_difference_moves_nobody() -> None:
    assert divide(60, 0, asks((64, 8, 30), (62, 8, 30))) == {0: 30, 1: 30}
    assert divide(60, 0, asks((64, 8, 20), (62, 8, 40))) == {0: 30, 1: 30}


@given(
    st.integers(1, 500),
    st.integers(0, 100),
    st.lists(st.tuples(st.integers(1, 200), st.integers(1, 20), st.integers(1, 200)), max_size=12),
)
def test_a_share_is_at_most_what_was_asked_and_all_together_at_most_the_budget(
    budget: int, taken: int, given_: list[tuple[int, int, int]]
) -> None:
    asking = asks(*given_)

    shares = divide(budget, taken, asking)

    assert all(1 <= shares[ask.partition] <= max(ask.asked, 1) for ask in asking)
    assert sum(shares.values()) <= max(budget - taken, len(asking))
