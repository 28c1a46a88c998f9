"""Every script reads each key that it derives before it writes the first. Real servers only.

A key that is out of reach, as while its slot moves to another node, then raises with nothing
written; so does one of another type, which EXISTS does not see. MONITOR shows what a script calls;
what it touches after its first write, it must have touched before, by a command of the key's type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.scripts import names, script
from tests.contract import world as w
from tests.contract.busy import busy
from tests.contract.test_conservation import Walk, Walker
from tests.contract.test_planted_values import kept
from tests.contract.world import World

_LINE = re.compile(rb"^[0-9.]+ \[(\d+) ([^\]]*)\] (.*)$", re.DOTALL)
_WORD = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")
# A claim that cannot take away the mark of a cancelled job is none the worse for it
_PASSED_OVER = {("claim", "cx")}
_CHANGED = "another script"  # any of them, with a line removed or marked by the mutation tests
Call = tuple[bytes, list[list[bytes]]]  # hash of a script, what it called


class Monitor:
    """What a server is told to do, by script."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._names = {script(n).sha: n for n in names()}
        info = client.execute_command("COMMAND")
        self.writes = {n.upper().encode() for n, about in info.items() if "write" in about["flags"]}

    def calls(self, action: Callable[[], Any]) -> list[Call]:
        """Return the scripts that an action calls."""
        with self._client.monitor() as monitor:
            action()
            self._client.echo("over")
            return list(self._read(monitor))

    def _read(self, monitor: Any) -> Iterator[Call]:
        calls: list[Call] = []
        while True:
            match = _LINE.match(monitor.connection.read_response())
            assert match
            words = [_ESCAPED.sub(_unescaped, word) for word in _WORD.findall(match[3])]
            if words == [b"ECHO", b"over"]:
                return iter(calls)
            if match[2] == b"lua":
                calls[-1][1].append(words)
            elif words[0].upper() == b"EVALSHA":
                calls.append((words[1], []))

    def late(self, call: Call) -> list[str]:
        """Return the keys that a script touched first after it had written."""
        sha, commands = call
        name = self._names.get(sha, _CHANGED)
        known: set[bytes] = set()
        found, wrote = [], False
        for word, *words in commands:
            keys = words if word.upper() == b"EXISTS" else words[:1]
            if wrote:
                found += [
                    f"{name}: {word.decode()} {_suffix(k)}"
                    for k in keys
                    if k not in known and not _is_passed_over(name, _suffix(k))
                ]
            else:  # the first write may be the first touch of its key: it raises alone
                known |= {k for k in keys if word.upper() != b"EXISTS" or _is_enough(k)}
            wrote = wrote or word.upper() in self.writes
        return found


def _unescaped(escape: re.Match[bytes]) -> bytes:
    return bytes.fromhex(escape[1].decode())


def _is_passed_over(name: str, suffix: str) -> bool:
    if name == _CHANGED:
        return suffix in {passed for _, passed in _PASSED_OVER}
    return (name, suffix) in _PASSED_OVER


def _is_enough(key: bytes) -> bool:
    # SET writes over any type; the counts of a group take the place of any
    return _suffix(key).startswith(("r:", "g:"))


def _suffix(key: bytes) -> str:
    return key.rpartition(b"main:")[2].decode("latin-1")


@pytest.fixture
def monitor(server_world: World) -> Monitor:
    return Monitor(server_world.client)


@pytest.mark.parametrize("seed", [1, 2])
def test_no_script_touches_a_key_first_after_it_wrote(
    server_world: World, monitor: Monitor, seed: int
) -> None:
    walker, walk = Walker(server_world), Walk(seed)
    late: set[str] = set()
    seen: set[bytes] = set()

    for _ in range(350):
        step = walk.step()
        for call in monitor.calls(partial(step, walker)):
            seen.add(call[0])
            late |= set(monitor.late(call))

    assert not late, "\n".join(sorted(late))
    assert len(seen) >= 20, f"the walk calls too few scripts: {seen}"


def test_nor_does_any_call_on_a_busy_partition(server_world: World, monitor: Monitor) -> None:
    scene, put_back = busy(server_world), kept(server_world)
    run = server_world.partition.server.run
    late: set[str] = set()

    for verb in scene.verbs():
        put_back()
        for call in monitor.calls(partial(run, scene.base(verb), [verb])):
            late |= set(monitor.late(call))

    assert not late, "\n".join(sorted(late))


def test_so_do_the_scripts_of_coordinators(server_world: World, monitor: Monitor) -> None:
    world = server_world

    def run(verb: Any) -> Callable[[], Any]:
        return lambda: verb.read(world.partition.server.run(world.system, [verb])[0])

    epoch = run(lead.lead("n", lease_ms=60_000, address="a"))().epoch
    verbs = [
        lead.lead("n", lease_ms=60_000, address="a"),
        lead.set_manual(1, 3, ttl_ms=1_000),
        lead.clear_manual(1),
        lead.set_policy(0, "x", {"mode": "hold"}, by="me", reason=""),
        lead.read_policy(),
        lead.record(epoch, [(0, b"{}"), (1, b"{}")], keep=10),
        lead.resign("n"),
    ]

    calls = [call for verb in verbs for call in monitor.calls(run(verb))]

    assert len(calls) >= len(verbs)
    assert not [late for call in calls for late in monitor.late(call)]


def test_so_does_a_repair_that_deletes_what_is_not_ours(
    server_world: World, monitor: Monitor
) -> None:
    world = server_world
    w.enqueue(world, ["a"])
    for suffix in (b":ck", b":ua", b":cmd"):
        world.client.set(world.partition.key + suffix, "not ours")

    calls = monitor.calls(partial(world.partition.audit, repair=True))

    assert any(words[0] == b"UNLINK" for _, commands in calls for words in commands)
    assert not [late for call in calls for late in monitor.late(call)]
