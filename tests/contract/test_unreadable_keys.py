"""A value that the server does not let a script read is not taken for a foreign one. Real servers.

Foreign values make way, in keys which anyone who may enqueue can fill: they are deleted. What
cannot be read for another reason stays, and the caller hears of it. The tests play this with a user
who may delete a key and nothing else; a slot that moves, say, gives other errors of that kind.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from queuepool.errors import ScriptError
from queuepool.servers.sync import Server
from queuepool.verbs.scripts import names, script
from tests.contract.busy import busy
from tests.contract.touched import Keys, stem, touched
from tests.contract.world import World

pytestmark = pytest.mark.either_engine

# Where a script does not stop at a value of another type
PASSED_OVER = {"q", "tr", "tn", "g", "dg", "gq", "gr", "gg", "wk", "dn", "cmd", "ck", "fl"} | {
    *("li", "lc", "lt", "lw", "ls", "lp")  # of limits
}
RESET = ("reset", "on", "nopass", "+@all")


@pytest.fixture
def limited(server_world: World) -> Iterator[Server]:
    """The server, as a user whose rights are yet to be given sees it."""
    client = server_world.client
    client.execute_command("ACL", "SETUSER", "limited", *RESET)
    where = client.connection_pool.connection_kwargs
    server = Server(f"redis://limited:x@{where['host']}:{where['port']}")
    yield server
    server.close()
    client.execute_command("ACL", "DELUSER", "limited")


@pytest.mark.parametrize("name", [n for n in names() if b"'WRONGTYPE'" in script(n).source])
def test_what_may_not_be_read_is_told_and_stays(
    server_world: World, limited: Server, name: str
) -> None:
    scene, keys = busy(server_world), Keys(server_world)
    client, filled, wrong = server_world.client, keys.save(), []

    for verb in (verb for verb in scene.verbs() if verb.script == name):
        base = scene.base(verb)
        read = touched(server_world, verb, base)
        for hidden in (together for together in read if stem(together[0]) in PASSED_OVER):
            before = keys.restore(filled)
            may_read = [base, *(key for together in read if together != hidden for key in together)]
            rights = [b"~" + key for key in may_read] + [b"(+unlink ~%s)" % key for key in hidden]
            client.execute_command("ACL", "SETUSER", "limited", *RESET, *rights)
            [reply] = limited.run(base, [verb])
            if not isinstance(reply, ScriptError):
                wrong.append(f"nobody hears of {hidden}: {reply!r}")
            if keys.save() != before:
                wrong.append(f"{hidden} cannot be read, and something changed: {reply!r}")

    assert not wrong, "\n".join(wrong)
