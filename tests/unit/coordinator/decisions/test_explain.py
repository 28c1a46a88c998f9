"""Each number of an explanation is recomputed from what is stored, by the policy that decided."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from msgspec.structs import replace as changed

from coordinator.core.model import Clamp, Inputs, Mode
from coordinator.decisions.explain import alternative, sentences, work_of
from coordinator.decisions.stored import DecisionRecord, Outcome
from coordinator.policy import Limits, make_policy
from coordinator.policy.sized import reason_of, size
from coordinator.policy.target_wait import workers_for
from tests.unit.coordinator.decisions.runs import Story, bursts


def numbers(text: str) -> list[float]:
    """Return the numbers of a sentence, in their order."""
    return [float(n) for n in re.findall(r"\d+(?:\.\d+)?(?:e[+-]\d+)?", text)]


def one(record: DecisionRecord, opening: str) -> str:
    """Return the sentence after the headline that has these words."""
    [found] = [sentence for sentence in sentences(record)[1:] if opening in sentence]
    return found


def test_every_sentence_about_sized_says_what_the_policy_computes_from_what_is_stored() -> None:
    records = Story().run(240, bursts)
    computed = [record for record in records if work_of(record)]
    assert len(computed) > 20

    for record in computed:
        work, seen = work_of(record), record.inputs
        assert work is not None
        assert seen is not None
        wanted = size(work)
        assert reason_of(work) in sentences(record)[0]
        told = numbers(one(record, "jobs arrive per second"))
        assert told == [
            float(f"{work.per_s:.1f}"),
            float(f"{work.service_s:.3g}"),
            float(f"{work.per_s * work.service_s:.1f}"),
        ]
        assert numbers(one(record, "So at least")) == [max(wanted.least, 0), wanted.most]
        assert numbers(one(record, "Seen:"))[:4] == [
            seen.backlog, seen.in_flight, seen.workers, seen.busy,
        ]  # fmt: skip
        assert (work.waiting, work.busy) == (
            seen.backlog + seen.in_flight - min(seen.in_flight, seen.workers),
            min(seen.in_flight, seen.workers),
        )
        if work.waiting:
            said = numbers(one(record, "waiting jobs are"))
            assert said[:2] == [work.waiting, float(f"{work.waiting * work.service_s:.1f}")]


def test_what_was_decided_is_what_the_stored_figures_say() -> None:
    records = [r for r in Story().run(240, bursts) if work_of(r) and r.target != r.previous]
    ups = downs = 0

    for record in records:
        work = work_of(record)
        assert work is not None
        wanted, plain = size(work), not record.moved
        if record.target > record.previous and plain:
            ups += record.target == wanted.least
            assert record.target <= wanted.least
        elif plain:
            downs += 1
            assert record.target == max(wanted.most, 2)

    assert ups >= 3
    assert downs >= 3


def test_moves_form_a_chain_from_what_the_policy_wanted_to_the_target() -> None:
    story = Story(budget="9", max_workers="12")
    records = [record for record in story.run(120, bursts) if record.moved]
    assert {clamp.name for record in records for clamp in record.moved} >= {"budget"}

    for record in records:
        counts = [(clamp.before, clamp.after) for clamp in record.moved]
        for (_, after), (before, _) in pairwise(counts):
            assert after == before
        assert counts[-1][1] == record.target
        for clamp in record.moved:
            direction = "raised" if clamp.after > clamp.before else "lowered"
            assert one(record, f"{clamp.name} {direction} it").startswith(
                f"{clamp.name} {direction} it from {clamp.before} to {clamp.after}"
            )
        work = work_of(record)
        rejected = alternative(record)
        assert rejected is not None
        if work is not None and record.moved[0].before > record.previous:
            assert rejected[0] <= max(size(work).least, record.previous)
        assert numbers(one(record, "The policy alone wanted"))[0] == counts[0][0]
        assert "The scaling record had version 7." in sentences(record)


def test_target_wait_is_explained_by_its_formula() -> None:
    records = [r for r in Story("target-wait").run(120, bursts) if r.figures]
    assert len(records) > 10

    for record in records:
        busy, waiting, service_s, wait_s = record.figures
        needed = workers_for(int(waiting), service_s, wait_s)
        assert numbers(one(record, "waiting jobs of")) == [
            waiting, float(f"{service_s:.3g}"), wait_s, needed, busy, busy + needed,
        ]  # fmt: skip
        if not record.moved:
            assert record.target == busy + needed


def test_the_outcome_is_what_was_seen_some_cycles_later() -> None:
    records = Story().run(240, bursts)
    changes = [record for record in records if record.target != record.previous]
    known = [record for record in changes if record.outcome]

    assert len(known) >= len(changes) - 1  # all but the last, whose cycles have not passed
    assert {record.outcome.cycles for record in known if record.outcome} >= {1, 5}
    for record in known:
        outcome = record.outcome
        assert outcome is not None
        assert 1 <= outcome.cycles <= 5
        assert outcome.at_ms - record.at_ms == 1_000 * outcome.cycles
        assert numbers(one(record, "later:"))[:4] == [
            outcome.cycles, outcome.workers, outcome.busy, outcome.backlog,
        ]  # fmt: skip
        if outcome.cycles == 5:
            assert outcome.workers == record.target


def record(**changes: object) -> DecisionRecord:
    plain = DecisionRecord(
        partition=3, mode=Mode.AUTOMATIC, previous=8, target=24, reason="why", at_ms=1, epoch=1,
        cycle=1, policy="sized", version=1,
        inputs=Inputs(
            backlog=35, workers=8, busy=8, reported=8, pwqd=4.4, finished_total=9, in_flight=8
        ),
    )  # fmt: skip
    return changed(plain, **changes)


def test_the_alternative_is_what_the_policy_wanted_or_else_to_stay() -> None:
    moved = (Clamp(name="budget", before=40, after=24, why="w"),)

    assert alternative(record(moved=moved)) == (40, "budget")
    assert alternative(record()) == (8, "sized")
    assert alternative(record(target=8)) is None


def test_what_the_policy_wanted_and_got_was_not_rejected() -> None:
    moved = (
        Clamp(name="times", before=64, after=96),
        Clamp(name="max_workers", before=96, after=64),
    )
    there_and_back = record(previous=48, target=64, moved=moved, policy="ratio")

    assert alternative(there_and_back) is None
    assert not any("rejected" in sentence for sentence in sentences(there_and_back))


def test_what_an_operator_wanted_is_not_said_of_the_policy() -> None:
    moved = (Clamp(name="max_workers", before=100, after=24),)
    by_hand = record(mode=Mode.MANUAL, policy="manual", version=0, moved=moved)

    assert alternative(by_hand) == (100, "max_workers")
    assert "The operator wanted 100 workers; rejected by max_workers." in sentences(by_hand)


def wanted_by_ratio(seen: Inputs, before: int) -> int:
    """Return what `ratio` makes of a count: twice as many, or half."""
    settings = make_policy("ratio").settings
    grown = seen.backlog / seen.workers > settings.threshold_pwqd
    return int(before * (settings.step_factor if grown else 1 / settings.step_factor))


@pytest.mark.parametrize("values", [{}, {"max_workers": "12"}, {"budget": "9"}], ids=str)
def test_the_alternative_is_what_the_policy_computes_from_what_is_stored(
    values: dict[str, str],
) -> None:
    story = Story("ratio", service_s=0.2, **values)
    records = story.run(240, bursts)
    changed = [one for one in records if one.target != one.previous and one.inputs]
    assert len(changed) > 5

    for found in changed:
        assert found.inputs is not None
        wanted = wanted_by_ratio(found.inputs, found.previous)
        [said] = [text for text in sentences(found) if "rejected" in text]
        if found.target == wanted:
            assert alternative(found) == (found.previous, "ratio")
            assert said.startswith(f"The alternative, to stay at {found.previous} workers, ")
        else:
            assert alternative(found) == (wanted, ", ".join(one.name for one in found.moved))
            assert said.startswith(f"The policy alone wanted {wanted} workers; ")


def test_a_count_that_overlays_raise_and_lower_again_is_told_as_wanted() -> None:
    schedule = "DAILY 00:00-23:59 times=1.5"
    records = Story("ratio", schedule=schedule, max_workers="16").run(240, bursts)
    moved = [one for one in records if one.moved and one.target != one.previous]
    back = [one for one in moved if one.moved[0].before == one.target]
    assert len(back) > 1
    assert len(moved) > len(back)

    for found in moved:
        wanted = found.moved[0].before
        assert found.moved[0].after == math.ceil(1.5 * wanted)
        said = [text for text in sentences(found) if "rejected" in text]
        assert bool(said) == (wanted != found.target)
        assert all(text.startswith(f"The policy alone wanted {wanted} workers; ") for text in said)
        told = alternative(found)
        assert (None if told is None else told[0]) == (wanted if said else None)


@pytest.mark.parametrize(
    "figures",
    [
        (),
        (1.0,),
        (math.inf,) * 7,
        (math.nan,) * 7,
        (-1.0,) * 7,
        (1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0),
        (1e308,) * 7,
        (10**18,) * 7,
    ],
)
def test_damaged_figures_are_left_out_and_break_nothing(figures: tuple[float, ...]) -> None:
    for policy in ("sized", "target-wait", "pwqd", "of-tomorrow"):
        told = sentences(record(figures=figures, policy=policy))
        assert told[0].startswith("It went from 8 to 24 workers")
        assert all(text.isprintable() for text in told)


def test_what_was_not_seen_and_who_acted_is_told() -> None:
    held = record(target=8, inputs=None, reason="no answer: held")
    by_hand = record(mode=Mode.MANUAL, policy="manual", version=0, reason="set to 24 manually")
    first = record(mode=Mode.OBSERVE, target=8)
    later = Outcome(at_ms=9, cycles=0, workers=24, busy=3, backlog=0, finished_per_s=2.5)

    assert sentences(held) == ["It stayed at 8 workers (policy sized, version 1): no answer: held."]
    assert "(set manually): set to 24 manually." in sentences(by_hand)[0]
    assert "(first observation of a new leader, or after a gap)" in sentences(first)[0]
    assert sentences(record(outcome=later))[-1] == (
        "At the next leader's first observation: 24 workers of which 3 busy, 0 jobs ready, "
        "2.5 executions ended per second."
    )
    assert "The consumer's target was 5, where 8 were wanted." in sentences(
        record(inputs=changed(record().inputs, reported=5))  # type: ignore[type-var]
    )


def test_a_minimum_that_keeps_idle_workers_is_said() -> None:
    story = Story()
    story.planner = replace(story.planner, limits=Limits(min_workers=8, max_workers=32))
    story.run(90, lambda second: 500 if second == 5 else 0)

    last = story.records()[-1]

    assert (last.target, last.clamps) == (8, ("min_workers",))
    assert any(said.startswith("min_workers raised it from") for said in sentences(last))
    assert any(said.endswith("rejected by min_workers.") for said in sentences(last))
