"""A random walk over the real scripts on a real server, beside a model in plain dicts.

`make test` runs a short walk that is the same every time; `make model` a long one that never is.
A failure prints the rules that led to it, and a line that repeats it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from queuepool.process.embedded import EmbeddedServer
from queuepool.servers import wire
from queuepool.verbs import scripts
from tests.property.model.homes import HomesMachine
from tests.property.model.moving import MovesMachine
from tests.property.model.pools import PoolsMachine
from tests.property.model.rules import PartitionMachine
from tests.sampling import first_of

EXAMPLES = int(os.environ.get("MODEL_EXAMPLES", "0"))
STEPS = int(os.environ.get("MODEL_STEPS", "50"))

settings.register_profile(
    "model-ci",
    max_examples=25,
    stateful_step_count=STEPS,
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
settings.register_profile(
    "model-long",
    settings.get_profile("model-ci"),
    max_examples=max(1, EXAMPLES),
    derandomize=False,
)
PROFILE = settings.get_profile("model-long" if EXAMPLES else "model-ci")

# machine, script, a line of it, what breaks it, what the model test says of it
BROKEN = (
    (PartitionMachine, "claim", "redis.pcall('HDEL', base .. ':cx', id)", "local _", "marks|turns"),
    (PartitionMachine, "finish", "whole(sets[3]) + finished", "whole(sets[3])", "I1"),
    (PartitionMachine, "acquire", "local new = math.max(", "local new = 1 + 0 * math.max(", "I6"),
    (
        PartitionMachine,
        "admit",
        "if not go then",
        "if false then",
        "I12|overtook|the lanes differ",
    ),
    (
        PartitionMachine,
        "note_ends",
        "if ended and (how ~= 'x' or as == 'x') then return false end",
        "if ended and false then return false end",
        "I13",
    ),
    (PartitionMachine, "tend_batches", "'state', verdict,", "'state', 'open',", "I13"),
    (HomesMachine, "ask", "used - had + stored", "used + stored - stored", "permits in use"),
    (HomesMachine, "ask", "serial <= last", "serial < last", "I11|runs|permits in use"),
    (HomesMachine, "ask", "if paused == 1 or", "if", "paused"),
    (MovesMachine, "adopt", "if not arrived then", "if true then", "groups differ|M3"),
    (MovesMachine, "thaw", "if version ~= whole(ARGV[1])", "if version < 0", "M6"),
    (MovesMachine, "export", "for t = 0, 3 do if #ids", "for t = 3, 0, -1 do if #ids", "M4"),
    (MovesMachine, "enqueue", "if least and least > (tonumber(ARGV[6]) or 1)", "if false", "M5"),
    (MovesMachine, "freeze", "'moving', ARGV[1], 'slot'", "'slot'", "M1|I17|room of"),
    (MovesMachine, "promote", "#ids > 0 and redis.call('SCARD', base .. ':mv') > 0", "false", "M2"),
    (MovesMachine, "bury", "if not old.closed then", "if true then", "M2"),
    (MovesMachine, "finish_stray", "if not is_closed(group)", "if true", "finish_stray"),
    (MovesMachine, "rouse", "return body and is_closed(group_of(body))", "return", "rouse"),
    (MovesMachine, "forget", "redis.call('LREM', list, 1, id) == 0", "false", "I4|lanes differ"),
)


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    """The URL of a server that holds nothing but the keys of one walk at a time."""
    with EmbeddedServer(appendonly=False) as server:
        yield server.url


@pytest.mark.timeout(0 if EXAMPLES else 120)
def test_scripts_do_what_the_model_says(model_url: str) -> None:
    machine = type("Machine", (PartitionMachine,), {"url": model_url})

    run_state_machine_as_test(machine, settings=PROFILE)


@pytest.mark.timeout(0 if EXAMPLES else 120)
def test_pools_of_a_partition_do_what_their_models_say(model_url: str) -> None:
    machine = type("Machine", (PoolsMachine,), {"url": model_url})
    examples = EXAMPLES // 2 or 4

    run_state_machine_as_test(machine, settings=settings(PROFILE, max_examples=examples))


@pytest.mark.timeout(0 if EXAMPLES else 120)
def test_homes_of_limits_do_what_the_model_says(model_url: str) -> None:
    machine = type("Machine", (HomesMachine,), {"url": model_url})
    examples = EXAMPLES // 4 or 15

    run_state_machine_as_test(machine, settings=settings(PROFILE, max_examples=examples))


@pytest.mark.timeout(0 if EXAMPLES else 120)
def test_slots_move_as_the_model_says(model_url: str) -> None:
    machine = type("Machine", (MovesMachine,), {"url": model_url})
    examples = EXAMPLES // 2 or 14

    run_state_machine_as_test(machine, settings=settings(PROFILE, max_examples=examples))


@pytest.mark.parametrize(
    ("base", "name", "line", "instead", "says"),
    first_of(BROKEN),
    ids=[f"{name}-{says}" for _, name, _, _, says in BROKEN],
)
def test_a_broken_script_is_noticed(
    model_url: str,
    base: type[PartitionMachine] | type[HomesMachine],
    name: str,
    line: str,
    instead: str,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = scripts.script(name).source
    assert source.count(line.encode()) == 1, "name a line that is still in the script"
    mutant = source.replace(line.encode(), instead.encode())
    broken = scripts.named(name, mutant)
    whole = scripts.script
    monkeypatch.setattr(wire, "script", lambda n: broken if n == name else whole(n))
    machine = type("Machine", (base,), {"url": model_url})
    quick = settings(PROFILE, max_examples=400, phases=[Phase.generate], report_multiple_bugs=False)

    with pytest.raises(AssertionError, match=says):
        run_state_machine_as_test(machine, settings=quick)
