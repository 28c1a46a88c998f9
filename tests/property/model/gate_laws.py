"""The laws of gates, checked on the keys themselves, and the keys against the model."""

from __future__ import annotations

from collections import Counter

from tests.property.model.space import Space
from tests.property.model.state import State


def check_laws(space: Space) -> None:
    """Fail unless parked jobs wait at their gates, counted, and nowhere else."""
    limits = {i: said.split(b"|", 1) for i, said in space.hash("lm").items()}
    marks, jobs = set(space.hash("cx")), set(space.hash("j"))
    parked = {i: gate for i, (passed, gate) in limits.items() if passed == b"p"}
    stands = Counter(i for ids in space.gates.values() for i in ids)

    assert set(limits) <= jobs, f"lm remembers jobs that are gone: {set(limits) - jobs}"
    assert stands == Counter([*parked, *(marks & set(stands))]), "I4: parked, and at no gate"
    for (gate, _, _), ids in space.gates.items():
        strangers = [i for i in ids if i not in marks and parked[i] != gate]
        assert not strangers, f"I4: {strangers} wait at {gate!r}"
    noted = {tuple(name.split(b":", 1)) for name in space.list("ll")}
    limited = set(limits) - set(parked)
    lanes = {(b"%d" % t, g) for (t, g), ids in space.lanes.items() if limited & set(ids)}
    assert lanes <= noted, f"claims overlook the limits of jobs in {lanes - noted}"
    empty = noted - {(b"%d" % t, g) for t, g in space.lanes}
    assert not empty, f"I15: ll has lanes that are gone: {empty}"
    check_seats(space)
    check_counts(space, parked, [said for said in limits.values() if said[0].isdigit()])


def check_seats(space: Space) -> None:
    """A lane at a gate has one seat there, and its group knows of it."""
    moved = {g for g, fields in space.groups.items() if b"moved" in fields}  # in whichever tier
    seats = Counter(
        (gate, 0 if g in moved else t, g)
        for (gate, t), ring in space.gate_rings.items()
        for g in ring
    )
    expected = Counter((gate, 0 if g in moved else t, g) for gate, t, g in space.gates)
    listed = {(g, place) for g, places in space.gates_of.items() for place in places}

    assert seats == expected, f"I3: seats {seats}, lanes {list(space.gates)}"
    lanes = {(group, b"%d:%s" % (tier, gate)) for gate, tier, group in space.gates}
    assert listed == lanes, f"lanes at gates are listed as {listed}"


def check_counts(space: Space, parked: dict[bytes, bytes], others: list[list[bytes]]) -> None:
    """I8: what is counted by gate, by group and in all, recounted."""
    ids = Counter[bytes]()
    for (gate, _, _), lane in space.gates.items():
        ids[gate] += len(lane)
    out = Counter(gate for passed, gate in others if passed != b"0")
    told = {gate: int(n) for gate, n in space.hash("ga").items()}

    assert space.counter("parked") == len(parked), f"I8: parked is not {len(parked)}"
    assert {g: int(n) for g, n in space.hash("gt").items()} == ids, f"I8: gt is not {ids}"
    assert told == out, f"I8: ga is {told}, not {out}"
    lanes = {b"%d:%s~%s" % (tier, gate, group) for gate, tier, group in space.gates}
    left = set(space.hash("gk")) - set(ids) - lanes
    assert not left, f"gk remembers gates and lanes that are gone: {left}"
    bodies = space.hash("j")
    mine = Counter(bodies[i][18 : 18 + int(bodies[i][16:18], 16)] for i in parked)
    stored = {name: int(fields.get(b"parked", 0)) for name, fields in space.groups.items()}
    assert {name: n for name, n in stored.items() if n} == mine, f"I8: {stored}, not {mine}"


def check_same(space: Space, state: State) -> None:
    """Fail unless the gates of the server are those of the model."""
    marks = set(space.hash("cx"))
    gates = {
        k: left for k, ids in space.gates.items() if (left := [i for i in ids if i not in marks])
    }
    limits = {i: b"%s|%s" % (job.passed, job.gate) for i, job in state.jobs.items() if job.gate}

    assert gates == state.gates, "the gates differ"
    assert space.hash("lm") == limits, "what is noted of limits differs"
