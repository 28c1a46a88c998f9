"""CONTRIBUTING.md, "Add a verb", followed in a scratch copy: each of six places is missed."""

from functools import partial
from pathlib import Path

import pytest

from tests.places.scratch import Place, Scratch, passes_whole, refuses_without
from tests.sampling import first_of

pytestmark = pytest.mark.timeout(600)  # each runs several tests in a process of its own

SCRIPT = """\
#!lua flags=allow-oom
-- touch: note that the checkpoint of a partition still holds.
-- ROLES   coordinator ops
-- KEYS[1] base; derived: ck
-- ARGV    leader epoch
-- Returns the ms that is noted. O(1).
local ck = KEYS[1] .. ':ck'
-- uses: clock
redis.call('HSET', ck, 'at', now, 'leader', ARGV[1])
return now
"""
WRAPPER = '''def touch(epoch: int) -> Verb[int]:
    """Note that a partition's checkpoint still holds; returns the ms that is noted."""
    return Verb("touch", [epoch], int)


'''
TWIN = '''def touch(p: PartitionData, args: Args) -> Any:
    """Note that a checkpoint still holds."""
    p.checkpoint = p.checkpoint | {"at": p.now, "leader": int(args[0])}
    return p.now


'''
SECTION = """\
#### `touch`

Notes that a checkpoint still holds.

- Flags: `allow-oom`
- Keys: `base; derived: ck`
- Arguments: `leader epoch`
- Reply: the ms that is noted.
- One script because: it is a single write; a script so that all calls take the same path.
- Cost: O(1).

"""
TEST = '''"""touch, on memory and on real servers."""

from queuepool.verbs.leader import verbs as lead
from tests.contract.world import World


def test_a_checkpoint_is_touched(world: World) -> None:
    server, key = world.partition.server, world.partition.key

    (_, noted_ms) = server.run(key, [lead.checkpoint(6, 3), lead.touch(7)])

    assert world.partition.observe().checkpoint_ms == noted_ms
'''
RECIPE = (
    Place(
        "the script",
        partial(Scratch.write, path="queuepool/verbs/leader/touch.lua", text=SCRIPT),
    ),
    Place(
        "the wrapper",
        partial(
            Scratch.replace,
            path="queuepool/verbs/leader/verbs.py",
            old="def checkpoint(",
            new=f"{WRAPPER}def checkpoint(",
        ),
    ),
    Place(
        "the twin",
        partial(
            Scratch.replace,
            path="queuepool/testing/leading.py",
            old="def checkpoint(",
            new=f"{TWIN}def checkpoint(",
        ),
    ),
    Place(
        "the page",
        partial(
            Scratch.replace,
            path="docs/protocol.md",
            old="#### `checkpoint`",
            new=f"{SECTION}#### `checkpoint`",
        ),
    ),
    Place(
        "the busy partition",
        partial(
            Scratch.insert_after,
            path="tests/contract/busy.py",
            anchor="            lead.checkpoint(9, 4),\n",
            text="            lead.touch(9),\n",
        ),
    ),
    Place(
        "the test",
        partial(Scratch.write, path="tests/contract/test_touch.py", text=TEST),
    ),
)
CHECKS = (
    lambda scratch: scratch.pytest(
        "tests/docs/test_protocol.py", "tests/unit/testing/test_every_verb.py"
    ),
    lambda scratch: scratch.pytest("tests/security/test_rights.py", "-k", "role"),
    lambda scratch: scratch.pytest(
        "tests/contract/test_wrong_types.py", "tests/contract/test_touch.py", "-k", "touch"
    ),
)


def test_a_verb_that_follows_the_recipe_passes(tmp_path: Path) -> None:
    passes_whole(RECIPE, CHECKS, tmp_path)


@pytest.mark.parametrize("place", first_of(place.name for place in RECIPE))
def test_a_place_left_out_is_missed(place: str, tmp_path: Path) -> None:
    refuses_without(place, RECIPE, CHECKS, tmp_path)
