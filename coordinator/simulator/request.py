"""What `queuepool simulate` asks for, and its answer: plain data. Pure; `read` gives file texts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from coordinator.policy import Limits, Policy, make_policy, setting_kinds
from coordinator.policy.base import PolicySettings
from coordinator.policy.gain_check import GainCheckSettings
from coordinator.simulator.chart import draw
from coordinator.simulator.inputs import parse_trace
from coordinator.simulator.scenario import Scenario, Stream
from coordinator.simulator.scenario_file import Read, flows_of, parse_scenario
from coordinator.simulator.scorecard import Scorecard

STATIC: Final = "static"  # the row of the most workers
_SWITCHES: Final = {"true": True, "false": False}
_WORDS: Final = {value: word for word, value in _SWITCHES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to simulate: traces, each one alone, or scenarios, with each of the policies.

    settings: NAME=VALUE, of the first policy. load: the mean of a trace's work, as a share of the
    most workers. row_s: the time that one row of a trace stands for.
    """

    policies: Sequence[str]
    traces: Sequence[str] = ()
    scenarios: Sequence[str] = ()
    settings: Sequence[str] = ()
    rows: int = 1_000_000
    row_s: float = 10.0
    load: float = 0.2
    service_s: float = 0.5
    cv: float = 1.0
    min_workers: int = 8
    max_workers: int = 64
    reports_s: float = 1.0
    hears_s: float = 0.2
    seed: int = 0
    chart: bool = False


def answer(request: Request, read: Read) -> dict[str, Any]:
    """Return the figures of every run, by scenario. Raises ValueError for what is wrong."""
    policies = list(_policies(request, 1.0))  # mistakes are found before anything runs
    results = []
    for scenario in _scenarios(request, read):
        card = Scorecard(scenario)
        policies = list(_policies(request, scenario.cycle_s))
        results.append(_result(card, policies, chart=request.chart))
    return {"results": results}


def _result(
    card: Scorecard, policies: Sequence[Policy[Any, Any]], *, chart: bool
) -> dict[str, Any]:
    static = card.score_of(card.static, f"{STATIC} {card.scenario.bounds.max_workers}")
    scores, drawn = [static.figures()], []
    for policy in policies:
        score, run = card.score(policy)
        scores.append(score.figures())
        drawn.append((policy.name, run))
    return {
        "scenario": card.scenario.name,
        "jobs": static.jobs,
        "seconds": card.scenario.until_s,
        "scores": scores,
        "chart": draw(card.scenario.name, drawn) if chart else "",
    }


def _scenarios(request: Request, read: Read) -> Iterator[Scenario]:
    for name in request.traces:
        yield trace_scenario(request, read(name), name)
    for name in request.scenarios:
        folder, slash, _ = name.rpartition("/")

        def beside(other: str, folder: str = f"{folder}{slash}") -> str:
            return read(other if other.startswith("/") else f"{folder}{other}")

        yield parse_scenario(read(name), name, beside)


def trace_scenario(request: Request, text: str, name: str) -> Scenario:
    """Return the load of a trace, scaled to the mean that is asked for."""
    trace = parse_trace(text, name, rows=request.rows)
    per_s = request.load * request.max_workers / request.service_s
    stream = Stream(
        name="trace",
        arrivals=flows_of(trace, per_s, request.row_s),
        service_s=request.service_s,
        cv=request.cv,
    )
    return Scenario(
        name=name.rpartition("/")[2],
        streams=(stream,),
        bounds=Limits(min_workers=request.min_workers, max_workers=request.max_workers),
        reports_s=request.reports_s,
        hears_s=request.hears_s,
        until_s=len(trace.values) * request.row_s,
        seed=request.seed,
    )


def _policies(request: Request, cycle_s: float) -> Iterator[Policy[Any, Any]]:
    for index, name in enumerate(request.policies):
        given = dict(map(parse_setting, request.settings)) if index == 0 else {}
        yield made_policy(name, given, cycle_s)


def made_policy(name: str, given: Mapping[str, Any], cycle_s: float) -> Policy[Any, Any]:
    """Return a policy with typed settings. Raises ValueError."""
    kinds, own = setting_kinds(name), make_policy(name).settings
    settings = {"cycle_s": cycle_s} if "cycle_s" in kinds else {}
    for key, value in given.items():
        try:
            settings[key] = _of_kind(kinds.get(key), key, value, own)
        except ValueError as error:
            raise ValueError(f"policy {name!r}: {error}") from None
    return make_policy(name, **settings)


def _of_kind(kind: Any, name: str, value: Any, own: PolicySettings) -> Any:
    """Return a setting as its policy takes it, from a number or a switch. Raises ValueError.

    own: of the policy without any: its gain check, where that is switched on.
    """
    if not isinstance(value, bool | int | float):  # as a recording has it
        return value
    shown = _WORDS[value] if isinstance(value, bool) else f"{value}"
    if kind is GainCheckSettings:
        if isinstance(value, float) or value not in (0, 1):
            raise ValueError(f"{name}={shown}: use true, false, 1 or 0")
        return getattr(own, name) if value else GainCheckSettings(enabled=False)
    if kind in (int, float) and isinstance(value, bool):
        whole = "whole " if kind is int else ""
        raise ValueError(f"{name}={shown} must be a {whole}number")
    if kind is int and value != int(value):
        raise ValueError(f"{name}={shown} must be a whole number")
    return int(value) if kind is int else value


def parse_setting(text: str) -> tuple[str, Any]:
    """Return the name and the value of a typed NAME=VALUE. Raises ValueError."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(f"--set {text}: write NAME=VALUE")
    if value in _SWITCHES:
        return name, _SWITCHES[value]
    try:
        number = float(value)
    except ValueError:
        raise ValueError(f"--set {text}: {value!r} is not a number, true or false") from None
    if not math.isfinite(number):
        raise ValueError(f"--set {text}: {value} is not a finite number")
    return name, int(number) if number.is_integer() and "." not in value else number
