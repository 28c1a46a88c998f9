"""Traces and scenario files: what they mean, and what is wrong in them, with its line."""

import math

import pytest

from coordinator.policy import Limits
from coordinator.simulator import scenario as made
from coordinator.simulator.inputs import BadFileError, parse_trace
from coordinator.simulator.scenario import Burst, Flow, Scenario
from coordinator.simulator.scenario_file import parse_scenario
from tests.paths import ROOT

FULL = """\
name = "everything"
until_s = 300
partitions = 2
min_workers = 4
max_workers = 32

[[streams]]
name = "bulk"
service_s = 0.2
tier = "low"
partition = 1
limit = "mail"
arrivals = [{at_s = 1, count = 10}, {from_s = 2, until_s = 4, every_s = 1, count = 3}]

[[streams]]
name = "steady"
arrivals = [{until_s = 2, per_s = 1, end_per_s = 3}, {trace = "load.csv", row_s = 5}]

[[limits]]
name = "mail"
per_s = 20

[hidden]
concurrency = 3

[[events]]
at_s = 5
kind = "service"
service_s = 0.4
stream = "bulk"

[[events]]
at_s = 6
kind = "late"
for_s = 10
by_s = 2
"""


def no_file(name: str) -> str:
    raise AssertionError(name)


def parsed(text: str, **files: str) -> Scenario:
    return parse_scenario(text, "s.toml", lambda name: files[name.partition(".")[0]])


def test_a_scenario_file_says_what_is_simulated() -> None:
    scenario = parsed(FULL, load="t,v\n1,10\n2,30\n")

    bulk, steady = scenario.streams
    assert (scenario.partitions, scenario.bounds) == (2, Limits(min_workers=4, max_workers=32))
    assert (bulk.service_s, bulk.tier, bulk.partition, bulk.limit) == (0.2, 3, 1, "mail")
    assert bulk.arrivals == (
        Burst(at_s=1, count=10),
        *(Burst(at_s=at_s, count=3) for at_s in (2, 3, 4)),
    )
    assert steady.arrivals == (
        Flow(from_s=0, until_s=1, per_s=1.5),
        Flow(from_s=1, until_s=2, per_s=2.5),
        Flow(from_s=0, until_s=5, per_s=10),
        Flow(from_s=5, until_s=10, per_s=30),
    )
    assert scenario.limits == (made.Limit(name="mail", per_s=20),)
    assert (scenario.hidden.concurrency, scenario.hidden.per_s) == (3, math.inf)
    assert scenario.events == (
        made.ServiceChanges(at_s=5, service_s=0.4, stream="bulk"),
        made.LateCounts(at_s=6, for_s=10, by_s=2),
    )


@pytest.mark.parametrize(
    ("before", "after", "line", "problem"),
    [
        ('until_s = 300', 'until_s = -1', 2, "Expected `float` > 0"),
        ("partitions = 2", "partition = 2", 3, "unknown field `partition`"),
        ("partitions = 2", "partitions = ", 3, "Invalid value"),
        ('tier = "low"', 'tier = "lowest"', 10, "tier 'lowest': one of critical"),
        ("partition = 1", "partition = 2", 11, "partition 2: there are 2, from 0 on"),
        ('limit = "mail"', 'limit = "male"', 12, "there is no limit 'male'"),
        ("every_s = 1, ", "", 13, "give per_s, or every_s and count"),
        ("at_s = 1, count", "at_s = 1, cuont", 13, "unknown field `cuont`"),
        ("per_s = 1, end", "per_s = true, end", 17, "Expected `float | null`, got `bool`"),
        ("per_s = 20", "per_s = nan", 21, "Expected `float` > 0"),
        ('kind = "service"', 'kind = "servce"', 28, "kind 'servce': one of service, blind"),
        ("by_s = 2", "", 32, "an event of kind 'late' needs by_s"),
        ('stream = "bulk"', 'stream = "bluk"', 30, "there is no stream 'bluk'"),
        ("max_workers = 32", "max_workers = 3", 5, "must not be below min_workers"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_scenario_file_is_told_with_its_line(
    before: str, after: str, line: int, problem: str
) -> None:
    assert before in FULL

    with pytest.raises(BadFileError) as caught:
        parsed(FULL.replace(before, after, 1), load="1\n")

    assert str(caught.value).startswith(f"s.toml:{line}: ")
    assert problem in str(caught.value)


def test_a_trace_is_the_last_column_with_or_without_a_heading() -> None:
    assert parse_trace("timestamp,value\n2015,104\n\n2016,99.5\n", "t").values == (104, 99.5)
    assert parse_trace("3\n4\n5\n", "t", rows=2).values == (3, 4)
    quoted = 't,"v, a row"\r\n"1,5","7"\r\n"a\nb", .5e1 \r\n'
    assert parse_trace(quoted, "t").values == (7, 5)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("t,v\n1,2\n2,x\n", 3, "'x' is not a count"),
        ("t,v\n1,2\n\n2,-3\n", 4, "-3 is not a count from 0"),
        ("1\nnan\n", 2, "'nan' is not a count"),
        ("1\ninf\n", 2, "'inf' is not a count"),
        ("1\n1e400\n", 2, "1e400 is not a count from 0"),
        ('t,v\n1,"1,5"\n', 2, "'1,5' is not a count, such as 1000 or 1.5"),
        ('"1,5"\n2\n', 1, "'1,5' is not a count"),
        ("1_000\n2\n", 1, "'1_000' is not a count"),
        ("\u0663\n\u0663\n", 2, "'\u0663' is not a count"),
        ("t,v\n1,5\n2\n", 3, "1 column, and the first row has 2"),
        ("t,v\n1,5\n2,1,5\n", 3, "3 columns, and the first row has 2"),
        ("t,v\n1,5\n2,\n", 3, "the last column has no count"),
        ("1,\n2,5\n", 1, "the last column has no count"),
        ('t,v\n"a\nb",1\n2,x\n', 4, "'x' is not a count"),
        ('t,v\n1,"2"3\n', 2, "this is not CSV"),
        ('t,v\n1,2\n2,"3\n3,4\n', 3, "this is not CSV"),
        ("", 1, "no row has a count above 0"),
        ("t,v\n1,0\n", 1, "no row has a count above 0"),
    ],
)
def test_what_is_wrong_in_a_trace_is_told_with_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(BadFileError) as caught:
        parse_trace(text, "t.csv")

    assert str(caught.value).startswith(f"t.csv:{line}: ")
    assert problem in str(caught.value)


def test_the_examples_of_the_page_can_be_simulated() -> None:
    page = (ROOT / "docs" / "simulation.md").read_text()
    scenario = page.partition("```toml\n")[2].partition("```")[0]
    trace = page.partition("    timestamp")[2].partition("\n\n")[0]

    assert len(parsed(scenario).streams) == 2
    assert parse_trace(f"timestamp{trace}", "t").values == (104, 99)


def test_what_is_wrong_in_a_trace_of_a_scenario_names_the_trace() -> None:
    with pytest.raises(BadFileError, match=r"^load\.csv:2: 'x'"):
        parsed(FULL, load="1\nx\n")
