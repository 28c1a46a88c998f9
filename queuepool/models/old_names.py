"""Modules that moved, importable under their old names until 1.0."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def keep(old: str, new: str) -> None:
    """Let `old` stand for `new`, which is imported when something of it is asked for."""

    def find(name: str) -> Any:
        return getattr(import_module(new), name)

    module = ModuleType(old, f"Moved to {new}.")
    vars(module)["__getattr__"] = find
    sys.modules.setdefault(old, module)
