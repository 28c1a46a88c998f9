"""What a row of the page is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from queuepool.verbs.acl import ROLES
from tests.security.stolen.scene import Scene

EVERY_ROLE = frozenset(ROLES)
NOBODY = frozenset[str]()

# (scene, the last reply, what the scene held before) -> whether it was done.
Shown = Callable[[Scene, Any, dict[bytes, Any]], bool]


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a thief may want.

    ways: each a list of commands; who may, does it by at least one of them, and `shown` then tells
    that it happened. Who may not is refused the last command of every way, and nothing changes.
    """

    name: str
    may: frozenset[str]
    ways: tuple[tuple[str, ...], ...]
    shown: Shown


def by(roles: str) -> frozenset[str]:
    """Return roles by their names; `all` and `none` as well."""
    known = {"all": EVERY_ROLE, "none": NOBODY}
    found = known[roles] if roles in known else frozenset(roles.split())
    assert found <= EVERY_ROLE, roles
    return found


def sees(name: str, roles: str, secret: bytes, *ways: str) -> Action:
    """Return an action that brings a secret to light; each way is one command."""

    def shown(_scene: Scene, reply: Any, _before: dict[bytes, Any]) -> bool:
        return secret in repr(reply).encode()

    return Action(name, by(roles), tuple((way,) for way in ways), shown)


def writes(name: str, roles: str, *ways: str | tuple[str, ...]) -> Action:
    """Return an action that changes the key of the last command of each way."""
    listed = tuple((way,) if isinstance(way, str) else way for way in ways)

    def shown(scene: Scene, _reply: Any, before: dict[bytes, Any]) -> bool:
        keys = {scene.words(way[-1])[1] for way in listed}
        after = scene.contents()
        return any(before.get(key) != after.get(key) for key in keys)

    return Action(name, by(roles), listed, shown)


def does(
    name: str, roles: str, shown: Callable[[Scene], bool], *ways: str | tuple[str, ...]
) -> Action:
    """Return an action of which an honest process can tell that it was done."""
    listed = tuple((way,) if isinstance(way, str) else way for way in ways)
    return Action(name, by(roles), listed, lambda scene, _reply, _before: shown(scene))


def refused(name: str, *ways: str) -> Action:
    """Return an action that no role may take, by none of the commands."""
    return Action(name, NOBODY, tuple((way,) for way in ways), lambda *_: False)
