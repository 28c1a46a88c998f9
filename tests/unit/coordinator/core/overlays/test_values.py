"""Names and values that operators set: what they mean, and what is refused with which words."""

from collections.abc import Mapping

import pytest

from coordinator.core.overlays.rules import Rules, rules_at
from coordinator.core.overlays.values import MOST_VALUES, ScaleMode, merged, parse
from coordinator.policy import Limits
from queuepool.errors import InvalidInputError

BASE = Limits(min_workers=8, max_workers=64)


def rules(values: Mapping[str, str], limits: Limits = BASE, now_ms: int = 0) -> Rules:
    return rules_at(now_ms, limits, parse(values))


def bounds(**values: str) -> tuple[int, int]:
    found = rules(values).limits
    return found.min_workers, found.max_workers


def test_without_values_nothing_is_overlaid() -> None:
    assert rules({}) == Rules(limits=BASE)


def test_limits_take_the_place_of_those_of_the_settings() -> None:
    assert bounds(min_workers="2") == (2, 64)
    assert bounds(max_workers="128") == (8, 128)
    assert bounds(max_workers="4") == (4, 4)
    assert bounds(min_workers="100") == (100, 100)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [("quiet", (8, 16)), ("normal", (8, 64)), ("spike", (16, 64)), ("extreme", (32, 64))],
)
def test_profiles_have_limits_of_their_own(profile: str, expected: tuple[int, int]) -> None:
    assert bounds(profile=profile) == expected


def test_a_profile_never_crosses_the_limits() -> None:
    one = Limits(min_workers=5, max_workers=5)

    for profile in ("quiet", "spike", "extreme"):
        assert rules({"profile": profile}, one).limits == one


def test_values_of_a_profile_hold_while_it_does() -> None:
    given = {
        "spike.max_workers": "200", "spike.budget": "900", "budget": "300",
        "wait_s.critical": "1", "wait_s.low": "60", "spike.wait_s.critical": "0.25",
    }  # fmt: skip

    spike, normal = rules(given | {"profile": "spike"}), rules(given)

    assert (spike.limits.max_workers, spike.budget) == (200, 900)
    assert (normal.limits.max_workers, normal.budget) == (64, 300)
    assert (dict(spike.waits_s), dict(normal.waits_s)) == ({0: 0.25, 3: 60.0}, {0: 1.0, 3: 60.0})


def test_a_schedule_sets_floor_times_and_profile_while_it_is_open() -> None:
    text = (
        "1970-01-01 00:00-01:00 floor=10 profile=quiet; 1970-01-01 00:00-02:00 floor=12;"
        "1970-01-01 00:00-01:00 times=2"
    )

    first, later, after = (rules({"schedule": text}, now_ms=hour * 3_600_000) for hour in (0, 1, 2))

    assert (first.profile, later.profile, after.profile) == ("quiet", "normal", "normal")
    assert first.floor == (12, "1970-01-01 00:00-02:00 floor=12") == later.floor
    assert first.times == (2.0, "1970-01-01 00:00-01:00 times=2")
    assert (later.times, after.floor) == (None, None)


def test_policy_and_its_settings_are_understood() -> None:
    found = parse({"policy": "sized", "drain_s": "1.5", "step_workers": "4", "mode": "hold-up"})

    assert (found.policy, found.settings) == ("sized", {"drain_s": 1.5, "step_workers": 4})
    assert found.mode is ScaleMode.HOLD_UP


def test_a_number_may_have_an_exponent() -> None:
    found = parse({"drain_s": "1e3", "hold_s": "2.5E-1", "wait_s.low": "1e+2"})

    assert (found.settings, found.base.waits_s) == ({"drain_s": 1000, "hold_s": 0.25}, {3: 100})


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("mode", "fast", "mode='fast': use auto, hold, hold-up, hold-down, manual"),
        ("profile", "loud", "use quiet, normal, spike, extreme"),
        ("policy", "magic", "use "),
        ("min_workers", "0", "whole number from 1 to 4,096"),
        ("max_workers", "4097", "whole number from 1 to 4,096"),
        ("max_workers", "1e3", "whole number"),
        ("max_workers", "٣", "whole number"),
        ("budget", "-1", "whole number from 1 to 1,000,000"),
        ("budget", "9" * 5000, "whole number"),
        ("wait_s.critical", "nan", "above 0, at most 86400"),
        ("wait_s.critical", "0", "above 0"),
        ("guard.cpu", "101", "number of percent above 0, at most 100"),
        ("guard.memory", "inf", "at most 100"),
        ("drain_s", "0", "must be above 0"),
        ("drain_s", "x" * 9000, "use a number"),
        ("drain_s", "inf", "use a number below 1,000,000,000, such as 2"),
        ("drain_s", "1e9", "use a number below 1,000,000,000, such as 2"),
        ("drain_s", "1e999999999", "use a number below"),
        ("hold_s", "-1", "hold_s='-1' must not be negative"),
        ("hold_s", "-1.5e1", "must not be negative"),
        ("hold_s", "--1", "use a number"),
        ("step_workers", "-4", "must not be negative"),
        ("step_workers", "1.5", "use a whole number"),
        ("step_factor", "1", "must exceed 1"),
        ("schedule", "MON", "schedule: window 'MON'"),
        ("spike.mode", "hold", "'spike.mode' cannot be set"),
        ("loud.budget", "3", "cannot be set"),
        ("max_worker", "3", "cannot be set. Names: mode, profile"),
        ("\x1b[31m", "3", "'\\x1b[31m' cannot be set"),
        ("x" * 10_000, "3", "cannot be set"),
    ],
)
def test_a_bad_value_is_refused_with_what_to_write(name: str, text: str, said: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        merged({}, {name: text})

    assert said in str(refused.value)
    assert len(str(refused.value)) < 500


def test_a_setting_that_contradicts_a_policy_is_named_with_the_command_that_removes_it() -> None:
    set_before = merged({}, {"policy": "static", "step_factor": "1"})
    removal = r"`queuepool policy set step_factor=` removes the setting"

    for change, said in (("", ", and pwqd may run, since no policy is set"), ("pwqd", "")):
        with pytest.raises(InvalidInputError) as refused:
            merged(set_before, {"policy": change})
        assert (
            str(refused.value) == f"policy 'pwqd': step_factor=1.0 must exceed 1{said}. {removal}"
        )

    assert merged(set_before, {"policy": "", "step_factor": ""}) == {}


def test_settings_of_a_policy_are_checked_together() -> None:
    ratio = {"policy": "ratio", "threshold_pwqd": "2"}
    with pytest.raises(InvalidInputError) as refused:
        merged(ratio, {"low_pwqd": "3"})
    assert "threshold_pwqd=2.0 must exceed low_pwqd=3.0" in str(refused.value)
    assert "`queuepool policy set threshold_pwqd=` removes the setting" in str(refused.value)

    both = {"policy": "ratio", "threshold_pwqd": "0.8", "low_pwqd": "0.2"}
    assert merged({}, both) == both


def test_a_setting_that_contradicts_the_policy_of_a_shadow_is_told_as_part_of_it() -> None:
    text = "sized step_factor=1 until=2026-11-23T09:00:00Z"

    with pytest.raises(InvalidInputError) as refused:
        parse({"shadow": text})

    assert str(refused.value) == "shadow: policy 'sized': step_factor=1.0 must exceed 1"


def test_limits_that_cross_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="min_workers=9 is above max_workers=4"):
        parse({"min_workers": "9", "max_workers": "4"})
    with pytest.raises(InvalidInputError, match=r"spike.min_workers=9 is above spike.max"):
        parse({"spike.min_workers": "9", "spike.max_workers": "4"})


def test_changes_are_merged_by_name_and_an_empty_one_removes() -> None:
    before = {"mode": "hold", "budget": "9"}

    assert merged(before, {"mode": "", "max_workers": " 7 "}) == {"budget": "9", "max_workers": "7"}
    with pytest.raises(InvalidInputError, match="cannot be set"):
        merged(before, {"mod": ""})


def test_the_number_of_values_is_bounded() -> None:
    with pytest.raises(InvalidInputError, match="at most 200"):
        parse({f"n{n}": "1" for n in range(MOST_VALUES + 1)})
