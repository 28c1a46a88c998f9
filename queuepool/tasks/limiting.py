"""Which limits jobs name, and what code declares of them. Pure.

    limit="mail"                            all jobs share it
    limit="mail:{account}"                  one for each value of a field of the payload
    limit=Limit("mail:{account}", rate=5)   the same, and what each of them allows
    limit=lambda payload: ["mail", ...]     what a function makes of the payload; None for none
    limit=["mail", "mail:{account}"]        up to four of these

The names, sorted and joined by commas, are the gate of a job (docs/protocol.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models.limits import Limit, is_limit_name, parts_of
from queuepool.tasks.signature import Signature

if TYPE_CHECKING:
    from queuepool.tasks.registry import Task

MAX_LIMITS = 4  # of a job
_REMEMBERED = 4096
LimitOf: TypeAlias = Callable[[Mapping[str, Any]], str | Sequence[str] | None]
OneLimit: TypeAlias = str | Limit | LimitOf
LimitOption: TypeAlias = OneLimit | Sequence[OneLimit]
_USE = (
    'use a name, a template such as "mail:{account}", a Limit, a function of the payload, or a '
    f"list of up to {MAX_LIMITS} of these"
)


@dataclass(frozen=True, slots=True)
class JobLimits:
    """What a `limit=` says. names: of all jobs; made: by the payload of each.

    limits: those of them that it declares. fixed: the gate of jobs that only have `names`.
    """

    names: tuple[str, ...] = ()
    made: tuple[_Template | _Function, ...] = ()
    limits: tuple[Limit, ...] = ()
    fixed: bytes = b""

    def or_none(self) -> JobLimits | None:
        """Return None if it names none."""
        return self if self.names or self.made else None

    def gate(self, payload: Mapping[str, Any]) -> bytes:
        """Return the gate of a job: the names of its limits, in order. Raises InvalidInputError."""
        if not self.made:
            return self.fixed
        names = set(self.names)
        for make in self.made:
            names.update(make(payload))
        if len(names) > MAX_LIMITS:
            raise InvalidInputError(
                f"limit: a job may name {MAX_LIMITS} limits, and this one names {len(names)}: "
                f"{', '.join(sorted(names)[:10])}; nothing was enqueued for it"
            )
        return _joined(names)


@dataclass(frozen=True, slots=True)
class _Template:
    """Makes a name of fields of the payload, or of the defaults of the task's parameters."""

    text: str
    parts: tuple[str, ...]
    defaults: tuple[Any, ...]

    def __call__(self, payload: Mapping[str, Any]) -> tuple[str]:
        parts = list(self.parts)
        for place, default in enumerate(self.defaults):
            field = parts[2 * place + 1]
            parts[2 * place + 1] = self._text_of(field, payload.get(field, default), payload)
        name = "".join(parts)
        if not is_limit_name(name):
            raise InvalidInputError(
                f"limit={shown(self.text)}: {shown(name)} would be the limit of this job, but a "
                "name has 1 to 64 of A-Z a-z 0-9 _ . : @ / -; nothing was enqueued for it. Hash or "
                "clean other values in a function: limit=lambda payload: ..."
            )
        return (name,)

    def _text_of(self, field: str, value: Any, payload: Mapping[str, Any]) -> str:
        if isinstance(value, Enum):
            value = value.value
        if isinstance(value, str) and value:
            return str.__str__(value)
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**64
        if whole or isinstance(value, UUID):
            return str(value)
        found = f"which is {shown(value)}" if field in payload else "which the job does not have"
        raise InvalidInputError(
            f"limit={shown(self.text)} needs the field {shown(field)} of the payload, {found}: it "
            "must be text, a whole number or a UUID; nothing was enqueued for it. For jobs without "
            "a limit, and for other values, use a function: limit=lambda payload: ..."
        )


@dataclass(frozen=True, slots=True)
class _Function:
    """Checks the names that a function makes of payloads."""

    function: LimitOf

    def __call__(self, payload: Mapping[str, Any]) -> Sequence[str]:
        made: Any = self.function(payload)
        if made is None:
            return ()
        names = made if isinstance(made, list | tuple) else (made,)
        for name in names:
            if not isinstance(name, str) or not is_limit_name(name):
                raise InvalidInputError(
                    f"limit: the function returned {shown(made)} for this job, and {shown(name)} "
                    "is not a valid limit name: return a name of 1 to 64 of A-Z a-z 0-9 _ . : @ / "
                    "-, "
                    "a list of names, or None; nothing was enqueued for it"
                )
        return names


def limits_of(limit: LimitOption, takes: Signature | None = None) -> JobLimits:
    """Return what a `limit=` says. takes: of the task, if known. Raises InvalidInputError."""
    given: Any = limit if isinstance(limit, list | tuple) else (limit,)
    names, made = list[str](), list[_Template | _Function]()
    for one in given:
        text = one.name if isinstance(one, Limit) else one
        if isinstance(text, str):
            parts = parts_of(text)
            if len(parts) == 1:
                names.append(text)
            elif (template := _template(text, parts, takes)) not in made:
                made.append(template)
        elif callable(text) and not isinstance(text, type):
            made.append(_Function(text))
        else:
            raise InvalidInputError(f"limit={shown(limit)}: {shown(one)} names no limit; {_USE}")
    names = sorted(set(names))
    if len(names) + len(made) > MAX_LIMITS:
        raise InvalidInputError(
            f"limit={shown(limit)}: {len(names) + len(made)} limits; a job may name {MAX_LIMITS}"
        )
    declares = tuple(dict.fromkeys(one for one in given if isinstance(one, Limit)))
    return JobLimits(tuple(names), tuple(made), declares, _joined(names))


def _joined(names: Iterable[str]) -> bytes:
    return ",".join(sorted(names)).encode()


def _template(text: str, parts: Sequence[str], takes: Signature | None) -> _Template:
    fields = parts[1::2]
    if takes is None:
        return _Template(text, tuple(parts), (None,) * len(fields))
    for field in fields:
        if not takes.takes(field):
            raise InvalidInputError(
                f"limit={shown(text)}: {shown(field)} is not a parameter of task "
                f"{shown(takes.task)}; "
                f"name fields of its payload: {', '.join(sorted(takes.names)) or 'it has none'}"
            )
    return _Template(text, tuple(parts), tuple(map(takes.default_of, fields)))


def limits_in(task: Task) -> tuple[Limit, ...]:
    """Return the limits that a task declares."""
    said = task.wishes and task.wishes.limits
    return said.limits if said else ()


def refuse_other_definitions(task: Task, tasks: Iterable[Task]) -> None:
    """Raise InvalidInputError if a task declares a limit otherwise than others, or itself, do."""
    limits = limits_in(task)
    for other in (task, *tasks) if limits else ():
        for known in limits_in(other):
            for limit in limits:
                if _shape(known) == _shape(limit) and known.definition != limit.definition:
                    raise InvalidInputError(
                        f"limit {shown(limit.name)} is declared twice, with different values: "
                        f"{known} by "
                        f"task {other.name!r}, {limit} by task {task.name!r}. Create one Limit, "
                        "and use it in both places"
                    )


def refuse_undeclared(limits: JobLimits, tasks: Iterable[Task]) -> JobLimits:
    """Raise InvalidInputError for a Limit that no task declares: consumers would not know it."""
    for limit in limits.limits:
        known = (k for task in tasks for k in limits_in(task))
        if not any(_shape(k) == _shape(limit) and k.definition == limit.definition for k in known):
            raise InvalidInputError(
                f"limit={limit}: no task that is registered here declares it so, and consumers "
                "know only what tasks declare. Declare it, @task(limit=Limit(...)), or set it "
                f"with `queuepool limit set`, and enqueue with limit={shown(limit.name)}"
            )
    return limits


def declared(tasks: Iterable[Task]) -> Callable[[str], str]:
    """Return a function from a limit's name to its definition by these tasks, "" for none.

    Of several templates that make the name, the one with the longest text between its fields holds.
    """
    plain: dict[str, str] = {}
    templates: dict[tuple[str, ...], str] = {}
    for limit in (limit for task in tasks for limit in limits_in(task)):
        shape = _shape(limit)
        if len(shape) == 1:
            plain[limit.name] = limit.definition
        else:
            templates[shape] = limit.definition
    ranked = sorted(templates, key=lambda shape: (-len("".join(shape)), shape))
    patterns = [(_pattern(shape), templates[shape]) for shape in ranked]

    @lru_cache(maxsize=_REMEMBERED)
    def by_template(name: str) -> str:
        return next((text for pattern, text in patterns if pattern.fullmatch(name)), "")

    def definition_of(name: str) -> str:
        found = plain.get(name)
        return by_template(name) if found is None else found

    return definition_of


def _shape(limit: Limit) -> tuple[str, ...]:
    """Return the texts between the fields: templates of the same shape make the same names."""
    return tuple(parts_of(limit.name)[::2])


def _pattern(shape: tuple[str, ...]) -> re.Pattern[str]:
    # Atomic groups: names come from anyone who can enqueue, and none may take long.
    first, *middle, last = map(re.escape, shape)
    return re.compile(f"{first}{''.join(f'(?>.+?{text})' for text in middle)}.+{last}", re.DOTALL)
