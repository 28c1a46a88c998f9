"""Another program writes a value of another type where a key of a partition belongs. Real servers.

Whatever the verb, the caller hears a typed error and nothing is changed: when the value is taken
away again, every key is byte for byte what it was. Keys that are named after a group are another
matter, since anyone who may enqueue can fill them: there the value makes way, so that it stops no
call which has a job of that group beside those of others.

    a busy partition -> run a verb under MONITOR: the keys it touches -> put everything back
                     -> for each of these keys: something else in its place, the verb, compare

Which keys a script must touch is read from its header, so that a new key or a new script is tested
or missed by name.
"""

from __future__ import annotations

from typing import Any

import pytest

from queuepool.errors import ScriptError
from queuepool.protocol.keys import PARTITION_KEYS
from queuepool.verbs.acl import keys_of
from queuepool.verbs.producer import verbs as produce
from queuepool.verbs.scripts import names
from tests.contract import world as w
from tests.contract.busy import Busy, busy
from tests.contract.touched import Keys, stem, touched
from tests.contract.world import World

pytestmark = pytest.mark.either_engine

# (script, stem of a key) -> why no one learns of a value of another type there
_SET = "SET puts a result in the place of whatever is there"
_OTHERS = "an owner may not repair what only leaders write, and must not need it"
_TEXT = "any text is a row of bits"
EXCEPTIONS = {
    **{(script, "bb"): _TEXT for script in ("note_ends", "batch_results", "tend_batches")},
    **{(script, "bb"): _TEXT for script in ("export_batch", "adopt_batch", "drop_batch")},
    ("finish", "r"): _SET,
    ("finish_stray", "r"): _SET,
    ("renew", "cmd"): _OTHERS,
    ("acquire", "ck"): _OTHERS,
    ("acquire", "c"): "whoever owns the partition may take it over, and hears of it at the renewal",
    ("claim", "cx"): "marks of cancelled jobs, which claims only take away",
    **{
        (script, key): "claims and ends look at it only when an owner told them to"
        for script in ("claim", "acquire", "renew")
        for key in ("at", "cr", "er", "pr")
    },
    ("command", "wk"): "leaders may not put it right, and a wake token is for speed only",
    ("fire", "dn"): "as for enqueue",
    ("relay", "dn"): "as for enqueue",
    ("enqueue", "dn"): "the set that is not in use may be touched by nobody else for long",
    ("observe", "q"): "one lane of many, looked at for its age",
    ("observe", "tr"): "of one tenant of many, for the same",
    **{
        ("observe", key): "producers may write it, and all else is to be seen"
        for key in ("bd", "fo")
    },
}
AUDITS = ("audit", "audit_system")  # what they find is their answer
MAKES_WAY = {
    *("q", "tr", "tn", "tt", "g", "dg", "wk", "li", "lc", "lt", "lw", "ls", "lp", "gq", "gr", "gg"),
    *("b", "bf", "br", "h"),
}


def _is_fenced(reply: Any) -> bool:
    return isinstance(reply, list) and reply[:1] == [b"FENCED"]  # counted where it can be


@pytest.fixture
def scene(server_world: World) -> Busy:
    return busy(server_world)


@pytest.mark.parametrize("name", names())
def test_a_wrong_type_is_told_and_changes_nothing(scene: Busy, name: str) -> None:
    world, keys = scene.world, Keys(scene.world)
    verbs = [verb for verb in scene.verbs() if verb.script == name]
    filled = keys.save()
    tried, wrong = set(), []

    for number, verb in enumerate(verbs):
        tried_keys = touched(world, verb, scene.base(verb))
        before = keys.restore(filled)
        for together in tried_keys:
            with keys.replaced(together):
                [reply] = world.partition.server.run(scene.base(verb), [verb])
                stands = any(world.client.type(key) == b"string" for key in together)
            after, kind = keys.save(), stem(together[0])
            changed = {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}
            tried.add(kind)
            if changed:
                before = keys.restore(filled)
            if (name, kind) in EXCEPTIONS or _is_fenced(reply) or name in AUDITS:
                continue
            if kind in MAKES_WAY and not isinstance(reply, ScriptError):
                if stands and changed:
                    wrong.append(f"{name}, call {number}: {together} still stands in the way")
                continue
            if not (isinstance(reply, ScriptError) and "Another program writes" in str(reply)):
                wrong.append(f"{name}, call {number}: nobody hears of {together}: {reply!r}")
            if changed:
                wrong.append(f"{name}, call {number}: {together} of a wrong type changes {changed}")

    assert not wrong, "\n".join(wrong)
    assert tried == keys_of(name), "add a call that touches the key, or correct the header"


def test_what_stands_in_the_place_of_a_leaders_keys_stops_no_owner(server_world: World) -> None:
    for suffix in (b":cmd", b":ck"):
        server_world.client.set(server_world.partition.key + suffix, "not ours")
    server_world.damaged = True

    owned = server_world.own()
    renewal = w.renew(owned)

    assert (owned.acquired.checkpoint, renewal.commands) == (None, ())


def test_what_stands_in_the_place_of_a_group_makes_way_before_a_job_of_it_is_evicted(
    server_world: World,
) -> None:
    owned, base = server_world.own(), server_world.partition.key
    for name in ("old", "new"):
        w.enqueue(server_world, [name], name.encode())
    claims = w.claim(owned)
    w.bury(owned, [b"old"])
    kept = int(server_world.client.hget(base + b":c", "dead_bytes"))
    server_world.client.delete(base + b":g:old")
    server_world.client.set(base + b":g:old", "not ours")

    w.bury(owned, [b"new"], keep_bytes=kept)

    assert len(claims.ids) == 2
    assert server_world.client.zrange(base + b":dead", 0, -1) == [b"new"]


def test_a_claim_that_cannot_see_when_the_retry_of_a_serial_group_is_due_takes_nothing(
    server_world: World,
) -> None:
    owned, delayed = server_world.own(), server_world.partition.key + b":dl"
    w.enqueue(server_world, ["first", "second"])
    server_world.partition.run(produce.configure(b"g", serial=True))
    w.retry(owned, w.claim(owned).ids)
    w.promote(owned)
    server_world.client.set(delayed, "not ours")

    with pytest.raises(ScriptError, match="Another program writes"):
        w.claim(owned)

    server_world.client.delete(delayed)
    assert w.claim(owned).ids == [b"first"]


NAMED_AFTER = ("q:2:g", "g:g", "dg:g", "ring:2", "dn:0", "dn:1")  # a group, a tier, a window


@pytest.mark.parametrize("suffix", [*(s for s in PARTITION_KEYS if "<" not in s), *NAMED_AFTER])
def test_an_audit_finds_it_and_a_repair_leaves_a_partition_in_order(
    server_world: World, suffix: str
) -> None:
    base, client = server_world.partition.key, server_world.client
    w.enqueue(server_world, w.names("j", 3))
    client.delete(base + b":" + suffix.encode())
    client.set(base + b":" + suffix.encode(), "not ours")

    found = server_world.partition.audit().foreign
    server_world.partition.audit(repair=True)

    assert found == 1
    assert server_world.partition.audit().clean
    if suffix == "j":  # the bodies are gone: their ids go when it is their turn
        server_world.damaged = True
    else:
        assert len(w.claim(server_world.own()).ids) == 3
