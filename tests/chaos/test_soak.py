"""What the soak takes for growth."""

from tests.chaos.soak import Sample, grown


def _samples(growth: float) -> list[Sample]:
    """Return ten minutes in which keys grow by this share, beside a wave of a minute."""
    return [
        Sample(s, 1e6, 1000 * (1 + growth * s / 600) + (s % 60), 50, 1e8) for s in range(0, 600, 2)
    ]


def test_a_wave_is_no_growth() -> None:
    assert grown(_samples(0.0)) == []


def test_what_grows_is_named_and_nothing_else() -> None:
    (said,) = grown(_samples(0.3))

    assert said.startswith("keys grew by 2")
