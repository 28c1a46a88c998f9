"""queuepool simulate: a table, a picture, a line of JSON, and mistakes with their place."""

import json
from pathlib import Path

import pytest

from coordinator.policy import make_policy
from coordinator.policy.gain_check import GainCheckSettings
from coordinator.simulator.request import made_policy, parse_setting
from queuepool.cli import main
from queuepool.cli.exits import Exit

SCENARIO = """\
until_s = 30
[[streams]]
name = "bulk"
arrivals = [{at_s = 1.5, count = 3000}]
"""


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "bulk.toml"
    path.write_text(SCENARIO)
    return str(path)


def test_a_table_has_a_row_for_each_policy(
    scenario: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    code = main(["simulate", "--policy", "pwqd", "--compare", "ratio", "--scenario", scenario])

    shown = capsys.readouterr().out
    assert code == Exit.OK
    heading, _, static, *policies = shown.splitlines()
    assert heading.split()[:2] == ["load", "policy"]
    assert static.split()[:3] == ["bulk.toml", "static", "64"]
    assert [line.split()[0] for line in policies] == ["pwqd", "ratio"]
    assert {line.split()[-1] for line in (static, *policies)} <= {"met", "missed"}


def test_json_is_one_line_with_the_figures(
    scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", "--policy", "pwqd", "--scenario", scenario, "--json"]) == Exit.OK

    (result,) = json.loads(capsys.readouterr().out)["results"]
    static, pwqd = result["scores"]
    assert (result["jobs"], static["policy"], pwqd["policy"]) == (3_000, "static 64", "pwqd")
    assert static["wait_p99_s"] == pytest.approx(3_000 * 0.12 / 64, abs=0.2)
    assert pwqd["wait_p99_s"] > static["wait_p99_s"]
    assert pwqd["cost"] == pytest.approx(pwqd["worker_s"] / pwqd["oracle_s"], abs=0.001)


def test_a_trace_is_scaled_to_the_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "load.csv"
    trace.write_text("timestamp,value\n" + "".join(f"{row},{row % 5}\n" for row in range(40)))
    words = ["simulate", "--policy", "static", "--trace", str(trace), "--rows", "20", "--row", "5s"]

    assert main([*words, "--load", "0.5", "--service", "1s", "--max", "16", "--json"]) == Exit.OK

    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["seconds"] == 100
    assert result["jobs"] == pytest.approx(100 * 0.5 * 16, rel=0.15)


def test_a_setting_changes_the_first_policy_only(
    scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["simulate", "--policy", "static", "--compare", "pwqd", "--scenario", scenario]

    figures = []
    for extra in ([], ["--set", "workers=16"]):
        assert main([*words, *extra, "--json"]) == Exit.OK
        (result,) = json.loads(capsys.readouterr().out)["results"]
        figures.append([score["wait_p99_s"] for score in result["scores"]])

    assert figures[0][1] > 1.2 * figures[1][1]
    assert (figures[0][0], figures[0][2]) == (figures[1][0], figures[1][2])


@pytest.mark.parametrize("policy", ["sized", "pwqd"])
def test_the_gain_check_is_switched_by_words_and_by_numbers(policy: str) -> None:
    own = make_policy(policy).settings.gain_check
    assert own.enabled
    off = GainCheckSettings(enabled=False)

    for text, check in (("0", off), ("false", off), ("1", own), ("true", own)):
        given = dict([parse_setting(f"gain_check={text}")])

        assert made_policy(policy, given, 1.0).settings.gain_check == check


def test_a_whole_number_may_have_a_point() -> None:
    made = made_policy("static", dict([parse_setting("workers=16.0")]), 1.0)

    assert made.settings.workers == 16
    assert isinstance(made.settings.workers, int)


def test_a_chart_is_written(scenario: str, tmp_path: Path) -> None:
    chart = tmp_path / "chart.svg"

    main(["simulate", "--policy", "pwqd", "--scenario", scenario, "--chart", str(chart)])

    assert chart.read_text().startswith("<svg ")
    assert chart.read_text().count("<polyline") == 2


def test_a_chart_that_cannot_be_written_is_refused_before_the_simulation(
    scenario: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("coordinator.simulator.request.answer", None)  # it is not asked
    chart = tmp_path / "nowhere" / "chart.svg"

    assert main(["simulate", "--policy", "pwqd", "--scenario", scenario, "--chart", str(chart)])

    assert "No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--policy", "magic", "--scenario", "{}"], "there is no scaling policy named 'magic'"),
        (["--policy", "pwqd", "--compare", "magic", "--scenario", "{}"], "named 'magic'"),
        (["--policy", "pwqd", "--set", "tau=1", "--scenario", "{}"], "no setting tau"),
        (["--policy", "pwqd", "--set", "tau_s", "--scenario", "{}"], "write NAME=VALUE"),
        (["--policy", "pwqd", "--set", "tau_s=x", "--scenario", "{}"], "'x' is not a number"),
        (["--policy", "pwqd", "--set", "tau_s=0", "--scenario", "{}"], "must be above 0"),
        (
            ["--policy", "sized", "--set", "gain_check=2", "--scenario", "{}"],
            "gain_check=2: use true, false, 1 or 0",
        ),
        (
            ["--policy", "sized", "--set", "gain_check=0.0", "--scenario", "{}"],
            "gain_check=0.0: use true, false, 1 or 0",
        ),
        (
            ["--policy", "static", "--set", "workers=2.5", "--scenario", "{}"],
            "policy 'static': workers=2.5 must be a whole number",
        ),
        (
            ["--policy", "sized", "--set", "step_workers=2.5", "--scenario", "{}"],
            "step_workers=2.5 must be a whole number",
        ),
        (
            ["--policy", "pwqd", "--set", "cycles_above=2.5", "--scenario", "{}"],
            "cycles_above=2.5 must be a whole number",
        ),
        (
            ["--policy", "static", "--set", "workers=true", "--scenario", "{}"],
            "workers=true must be a whole number",
        ),
        (
            ["--policy", "sized", "--set", "drain_s=true", "--scenario", "{}"],
            "drain_s=true must be a number",
        ),
        (["--policy", "pwqd"], "give a load"),
        (["--policy", "pwqd", "--scenario", "{}", "--trace", "{}", "--chart", "x"], "one file"),
        (["--policy", "pwqd", "--trace", "{}"], "bulk.toml:2: "),
        (["--policy", "pwqd", "--trace", "{}", "--row", "0s"], "must be above 0"),
    ],
)
def test_mistakes_are_named(
    scenario: str, words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["simulate", *(word.replace("{}", scenario) for word in words)])

    assert code == Exit.USAGE
    assert problem in capsys.readouterr().err


def test_a_missing_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--policy", "pwqd", "--trace", "/nowhere.csv"]) == Exit.FAILED
    assert "/nowhere.csv" in capsys.readouterr().err


def test_a_file_that_is_not_text_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "load.csv"
    trace.write_bytes(b"1\n2\n\xff\n")

    assert main(["simulate", "--policy", "pwqd", "--trace", str(trace)]) == Exit.USAGE
    assert "load.csv:3: not UTF-8" in capsys.readouterr().err
