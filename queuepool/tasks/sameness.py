"""Whether two functions are one, whose module was imported twice, or two that differ. Pure.

`python -m app` imports app as __main__, and possibly again by its name; a reload runs it again.
Then functions have the same place in a file, and so have those that they wrap, and what they hold
is alike. A place alone says little: all functions of a decorator, or of a factory, share one.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

_MOST_STEPS = 8  # into what a function holds; deeper, values are taken to be alike
_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def is_same_function(a: Any, b: Any, steps: int = _MOST_STEPS) -> bool:
    """Return whether both are one function: the same object, or that of a second import."""
    if a is b or steps <= 0:
        return True
    if isinstance(a, functools.partial) and isinstance(b, functools.partial):
        mine, other = ((f.func, f.args, f.keywords) for f in (a, b))
        return _alike(mine, other, steps - 1)
    if isinstance(a, types.MethodType) and isinstance(b, types.MethodType):
        if not _same_owner(a.__self__, b.__self__, steps - 1):
            return False
        a, b = a.__func__, b.__func__
    inner = (_wrapped_by(a), _wrapped_by(b))
    code, code_of_b = (getattr(f, "__code__", None) for f in (a, b))
    if code is None or code_of_b is None:  # what wraps a function may be an object, as of lru_cache
        return type(a) is type(b) and None not in inner and is_same_function(*inner, steps - 1)
    if a.__qualname__ != b.__qualname__ or not _same_place(code, code_of_b):
        return False
    return is_same_function(*inner, steps - 1) and _alike(_held_by(a), _held_by(b), steps - 1)


def _wrapped_by(function: Any) -> Any:
    try:
        return getattr(function, "__wrapped__", None)
    except Exception:  # of a value's own code
        return None


def _same_place(code: types.CodeType, other: types.CodeType) -> bool:
    if code.co_name == "<lambda>" and code != other:  # a line may have several
        return False
    return (code.co_filename, code.co_firstlineno) == (other.co_filename, other.co_firstlineno)


def _held_by(function: Any) -> tuple[Any, ...]:
    """Return the values that a function has of its own: of its closure, and its defaults."""
    cells = getattr(function, "__closure__", None) or ()
    held = []
    for cell in cells:
        try:
            held.append(cell.cell_contents)
        except ValueError:  # not filled yet
            held.append(None)
    return held, getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None)


def _same_owner(a: Any, b: Any, steps: int) -> bool:
    """Return whether a method of one object is that of the other one."""
    if a is b:
        return True
    if isinstance(a, type) or isinstance(b, type):
        return _same_class(a, b)
    if type(a) is type(b) and not getattr(a, "__dict__", None):
        return False  # two objects that nothing tells apart, now
    return _alike(a, b, steps)


def _same_class(a: Any, b: Any) -> bool:
    if a is b or not (isinstance(a, type) and isinstance(b, type)):
        return a is b
    files = {getattr(sys.modules.get(k.__module__), "__file__", k.__module__) for k in (a, b)}
    return a.__qualname__ == b.__qualname__ and "<locals>" not in a.__qualname__ and len(files) == 1


def _alike(a: Any, b: Any, steps: int) -> bool:
    """Return whether two values, held by functions, may be those of one function."""
    if a is b or steps <= 0:
        return True
    if isinstance(a, _FUNCTIONS) or _wrapped_by(a) is not None:
        return is_same_function(a, b, steps)
    if isinstance(a, type):
        return _same_class(a, b)
    if not _same_class(type(a), type(b)):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(_alike(x, y, steps - 1) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_alike(a[key], b[key], steps - 1) for key in a)
    return _equal(a, b) or _of_like_state(a, b, steps - 1)


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except Exception:  # of the value's own code, such as that of an array
        return False


def _of_like_state(a: Any, b: Any, steps: int) -> bool:
    by_identity: Any = object.__eq__
    if type(a) is type(b) and type(a).__eq__ is not by_identity:
        return False  # it says itself what is equal
    mine, other = (getattr(value, "__dict__", None) for value in (a, b))
    return _alike(mine, other, steps)  # of a lock or the like, which has none: it may be
