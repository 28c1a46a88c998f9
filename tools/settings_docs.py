"""Write the tables of settings in docs/operations.md from the settings themselves.

Run: `python -m tools.settings_docs --write | --check`.

The table of the variables that begin with PREFIX is named `settings PREFIX` (see `tools.tables`).
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic_settings import BaseSettings

from consumer.settings import ConsumerSettings
from coordinator.settings import CoordinatorSettings
from queuepool.settings.environment import QueuePoolSettings
from queuepool.web.settings import WebSettings
from tools.tables import markdown, replaced

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "operations.md"
MODELS: tuple[type[BaseSettings], ...] = (
    *(QueuePoolSettings, ConsumerSettings, CoordinatorSettings, WebSettings),
)


def table(model: type[BaseSettings]) -> str:
    """Return the settings of a model as a Markdown table."""
    prefix = model.model_config.get("env_prefix", "")
    own = model.__annotations__  # before inherited ones
    fields = sorted(model.model_fields.items(), key=lambda item: item[0] not in own)
    rows = [
        (
            f"`{prefix}{name.upper()}`",
            _shown(info.get_default(call_default_factory=True)),
            _allowed(info),
            info.description,
        )
        for name, info in fields
    ]
    return markdown(["variable", "default", "allowed", "meaning"], rows)


def _shown(default: Any) -> str:
    if default is None or default in ("", {}):
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, float) and default.is_integer():
        default = int(default)
    return f"`{default}`"  # can be typed: no thousands separators


def _allowed(info: Any) -> str:
    kind = info.annotation
    choices = [value for value in getattr(kind, "__args__", ()) if isinstance(value, str)]
    if choices:
        return ", ".join(f"`{value}`" for value in choices)
    if kind is SecretStr or SecretStr in getattr(kind, "__args__", ()):
        return "secret"
    if kind is bool:
        return "true, false"
    bounds = {
        word: value
        for constraint in info.metadata
        for word in ("ge", "gt", "le", "lt")
        if (value := getattr(constraint, word, None)) is not None
    }
    words = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    return ", ".join(f"{words[word]} {value}" for word, value in bounds.items())


def filled(page: str) -> str:
    """Return the page with up-to-date tables. Raises LookupError if it lacks one."""
    for model in MODELS:
        page = replaced(page, f"settings {model.model_config.get('env_prefix', '')}", table(model))
    return page


def main() -> int:
    """Write the tables, or compare them with what the settings give now."""
    parser = argparse.ArgumentParser(description=__doc__)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--write", action="store_true", help="replace the tables")
    mode.add_argument("--check", action="store_true", help="fail when they are not current")
    write = parser.parse_args().write

    present = PAGE.read_text()
    fresh = filled(present)
    if write:
        PAGE.write_text(fresh)
    elif fresh != present:
        print(f"{PAGE.relative_to(ROOT)}: run `python -m tools.settings_docs --write`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
