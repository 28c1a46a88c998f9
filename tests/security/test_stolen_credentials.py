"""Each cell of the tables of docs/security.md, tried: what a stolen user of the server can do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import redis

from queuepool.verbs.acl import ROLES
from tests.security.roles import guarded_server
from tests.security.stolen.action import Action
from tests.security.stolen.actions import SECTIONS
from tests.security.stolen.page import PAGE, filled
from tests.security.stolen.scene import Scene
from tests.security.stolen.strains import STRAINS, Strain

ACTIONS = tuple(chain.from_iterable(SECTIONS.values()))
IN_A_SCRIPT = "#!lua\nreturn redis.call(unpack(ARGV))"
# What a server says to a script: no right to the command, none to the key; never for scripts.
REFUSED = re.compile(r"can't (run|access)|permissions? to|not allowed from script")


@pytest.fixture(scope="module")
def filled_scene(engine_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("stolen")
    words = ("--enable-module-command", "yes")  # so that rights are all that refuses it
    with guarded_server(engine_binary, "stolen", directory, *words) as guarded:
        scene = Scene(guarded)
        yield scene
        scene.close()


@pytest.fixture
def scene(filled_scene: Scene) -> Scene:
    """Everything as it was in the beginning."""
    filled_scene.restore()
    return filled_scene


def said(call: Any, *words: Any) -> Any:
    """Return a server's reply, an error as one."""
    try:
        return call(*words)
    except redis.ResponseError as error:
        return error


def is_refusal(reply: Any) -> bool:
    """Return whether the server refused a command for lack of rights."""
    return isinstance(reply, redis.exceptions.NoPermissionError)


def prepare(scene: Scene, thief: Any, steps: Sequence[str]) -> list[Any]:
    """Take all steps but the last; return the replies."""
    return [
        said(
            (scene.admin if step[0] == "!" else thief).execute_command,
            *scene.words(step.strip("!")),
        )
        for step in steps
    ]


def test_the_page_says_what_is_tried_here() -> None:
    text = PAGE.read_text()

    assert filled(text) == text, "run `python -m tests.security.stolen.page`"


def cells(*, may: bool) -> list[Any]:
    """Return (action, role) of all cells that say so."""
    return [
        pytest.param(action, role, id=f"{role}: {action.name}")
        for action in ACTIONS
        for role in ROLES
        if (role in action.may) == may
    ]


@pytest.mark.parametrize(("action", "role"), cells(may=True))
def test_what_a_role_may_do_it_can(scene: Scene, action: Action, role: str) -> None:
    replies: list[Any] = []
    for way in action.ways:
        scene.restore()
        with scene.thief(role) as thief:
            *prepared, last = way
            replies += prepare(scene, thief, prepared)
            before = scene.contents()
            reply = said(thief.execute_command, *scene.words(last))
            replies.append(reply)
        if not isinstance(reply, redis.ResponseError) and action.shown(scene, reply, before):
            return
    pytest.fail(f"{role} may {action.name}, says the page; the server: {replies}")


@pytest.mark.parametrize(("action", "role"), cells(may=False))
def test_what_a_role_may_not_do_is_refused_and_nothing_changes(
    scene: Scene, action: Action, role: str
) -> None:
    for *prepared, last in action.ways:
        scene.restore()
        with scene.thief(role) as thief:
            sha = thief.script_load(IN_A_SCRIPT)
            stopped = any(map(is_refusal, prepare(scene, thief, prepared)))
            before = scene.contents()
            words = scene.words(last)

            plain = said(thief.execute_command, *words)
            scripted = said(thief.evalsha, sha, 1, scene.base, *words)

        if not stopped:  # else an earlier step was refused
            assert is_refusal(plain), (last, plain)
            assert isinstance(scripted, redis.ResponseError), (last, scripted)
            assert REFUSED.search(str(scripted)), (last, scripted)
        assert scene.contents() == before
        assert not action.shown(scene, plain, before), last


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("strain", STRAINS, ids=lambda strain: strain.name)
def test_rights_do_not_protect_the_time_and_memory_of_the_server(
    scene: Scene, strain: Strain, role: str
) -> None:
    with scene.thief(role) as thief:
        if role in strain.may:
            assert strain.done(scene, thief, role)
            return
        before = scene.contents()

        with pytest.raises(redis.ResponseError, match=REFUSED):
            strain.done(scene, thief, role)

        assert scene.contents() == before
