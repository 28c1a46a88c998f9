"""Whether two functions are one, whose module was imported twice, or two that differ. Pure.

`python -m app` imports app as __main__, and possibly again by its name; a reload runs it again.
Then a function has the same place in a file, but another code object, as each run of a module makes
its own. Functions that one run made share their code if they are of one decorator or factory: then
what they hold tells them apart. It may differ after a second import as well, as a time or a client
does; but then something that they hold is of another run itself, such as what they wrap.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterable
from enum import Enum, auto
from typing import Any

_MOST_PAIRS = 500  # that are compared of what functions hold; the nearest come first
_GENERATED = ("<lambda>", "<string>")  # a line, or what exec runs, may have several
_HOLDERS = (functools.partial, list, tuple, dict)

Pair = tuple[Any, Any]


class _Told(Enum):
    """What a pair of values says of two functions that hold them."""

    ALIKE = auto()
    AGAIN = auto()  # one value, of two runs of its module
    UNLIKE = auto()  # only if nothing shows that a module ran again
    OTHER = auto()  # functions of two places; whatever else shows, unless an object holds them


def is_same_function(a: Any, b: Any) -> bool:
    """Return whether both are one function: the same object, or that of a second import."""
    if a is b:
        return True
    pairs, seen, told = [(a, b, True)], set[tuple[int, int]](), set[_Told]()
    for one, other, direct in pairs:  # it grows
        if one is other or (id(one), id(other)) in seen:
            continue
        seen.add((id(one), id(other)))
        try:
            found, within = _compared(one, other)
            inner = direct and (_code_of(one) is not None or isinstance(one, _HOLDERS))
            held = [(*pair, inner) for pair in within][: _MOST_PAIRS - len(pairs)]
        except Exception:  # of a value's own code, such as the comparison of arrays
            found, held = _Told.UNLIKE, []
        if found is _Told.OTHER and direct:
            return False
        told.add(found)
        pairs += held
    return _Told.AGAIN in told or told <= {_Told.ALIKE}


def _compared(a: Any, b: Any) -> tuple[_Told, Iterable[Pair]]:
    """Return what two values say, and what they hold, in pairs."""
    if isinstance(a, type) and isinstance(b, type):
        return _Told.AGAIN if _same_class(a, b) else _Told.UNLIKE, ()
    if type(a) is not type(b):
        again = _same_class(type(a), type(b))
        return (_Told.AGAIN, _state(a, b)) if again else (_Told.UNLIKE, ())
    if isinstance(a, types.MethodType):
        stateless = a.__self__ is not b.__self__ and not getattr(a.__self__, "__dict__", None)
        told = _Told.UNLIKE if stateless else _Told.ALIKE  # nothing tells two objects apart, now
        return told, ((a.__func__, b.__func__), (a.__self__, b.__self__))
    code, other = _code_of(a), _code_of(b)
    if code is not None and other is not None:
        if a.__qualname__ != b.__qualname__ or not _same_place(code, other):
            return _Told.OTHER, ()
        held = zip(_held_by(a), _held_by(b), strict=True)
        return _Told.ALIKE if code is other else _Told.AGAIN, held
    return _of_values(a, b)


def _of_values(a: Any, b: Any) -> tuple[_Told, Iterable[Pair]]:
    if isinstance(a, functools.partial):
        return _Told.ALIKE, ((a.func, b.func), (a.args, b.args), (a.keywords, b.keywords))
    if isinstance(a, (list, tuple)):
        return _Told.ALIKE if len(a) == len(b) else _Told.UNLIKE, zip(a, b, strict=False)
    if isinstance(a, dict):
        told = _Told.ALIKE if a.keys() == b.keys() else _Told.UNLIKE
        return told, [(a[key], b[key]) for key in a if key in b]
    if a == b:
        return _Told.ALIKE, ()
    state: list[Pair] = _state(a, b)
    by_identity: Any = object.__eq__
    says_so = type(a).__eq__ is not by_identity  # it says itself what is equal
    unknown = callable(a) and not any(map(any, state))  # unlike a lock, what it does may differ
    return _Told.UNLIKE if says_so or unknown else _Told.ALIKE, state


def _state(a: Any, b: Any) -> list[Pair]:
    """Return the attributes of two objects, as a pair, if they have any."""
    states = [getattr(value, "__dict__", None) for value in (a, b)]
    return [] if states == [None, None] else [(states[0], states[1])]


def _code_of(value: Any) -> Any:
    return None if isinstance(value, type) else getattr(value, "__code__", None)


def _held_by(function: Any) -> tuple[Any, ...]:
    """Return what a function wraps, and its own values: of its closure, and its defaults."""
    held = []
    for cell in getattr(function, "__closure__", None) or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:  # not filled yet
            held.append(None)
    names = ("__wrapped__", "__defaults__", "__kwdefaults__")
    return held, *(getattr(function, name, None) for name in names)


def _same_place(code: types.CodeType, other: types.CodeType) -> bool:
    if (code.co_name in _GENERATED or code.co_filename in _GENERATED) and code != other:
        return False
    return (code.co_filename, code.co_firstlineno) == (other.co_filename, other.co_firstlineno)


def _same_class(a: type, b: type) -> bool:
    files = {getattr(sys.modules.get(k.__module__), "__file__", k.__module__) for k in (a, b)}
    return a.__qualname__ == b.__qualname__ and "<locals>" not in a.__qualname__ and len(files) == 1
