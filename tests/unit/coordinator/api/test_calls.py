import pytest

from coordinator.api.calls import MAX_PAGE_SIZE, PAGE_SIZE, clamped


@pytest.mark.parametrize(
    ("asked", "given"),
    [(0, PAGE_SIZE), (1, 1), (MAX_PAGE_SIZE, MAX_PAGE_SIZE), (2**32 - 1, MAX_PAGE_SIZE)],
)
def test_a_page_is_never_larger_than_the_most(asked: int, given: int) -> None:
    assert clamped(asked) == given
