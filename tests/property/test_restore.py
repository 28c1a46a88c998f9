"""How a checkpoint ages."""

import math

from hypothesis import given
from hypothesis import strategies as st

from consumer.core.restore import restored_workers

bounds = st.tuples(st.integers(1, 100), st.integers(0, 1000)).map(lambda b: (b[0], b[0] + b[1]))


def restored(checkpoint: int | None, age_s: float) -> int:
    return restored_workers(checkpoint, age_s, min_workers=8, max_workers=64, tau_s=60.0)


@given(
    checkpoint=st.none() | st.integers(),
    age_s=st.floats(),
    limits=bounds,
    tau_s=st.floats(0.1, 1e6),
)
def test_no_record_however_bad_leaves_the_bounds(
    checkpoint: int | None, age_s: float, limits: tuple[int, int], tau_s: float
) -> None:
    low, high = limits

    workers = restored_workers(checkpoint, age_s, min_workers=low, max_workers=high, tau_s=tau_s)

    assert low <= workers <= high


@given(checkpoint=st.integers(0, 200), ages=st.tuples(*[st.floats(0, 1e6)] * 2))
def test_an_older_checkpoint_never_restores_more(
    checkpoint: int, ages: tuple[float, float]
) -> None:
    younger, older = sorted(ages)

    assert restored(checkpoint, older) <= restored(checkpoint, younger) <= max(checkpoint, 8)


def test_a_fresh_checkpoint_is_restored_whole_and_an_old_one_in_part() -> None:
    assert restored(64, 0.0) == 64
    assert restored(64, 60.0) == math.ceil(64 / math.e) == 24
    assert restored(64, 3600.0) == 8


def test_bad_checkpoints_clamp() -> None:
    assert restored(None, 0.0) == 8
    assert restored(-5, 0.0) == 8
    assert restored(64, math.nan) == 8
    assert restored(64, math.inf) == 8
    assert restored(64, -3.0) == 64
    assert restored(10**400, 0.0) == 64
