"""Nothing is printed or logged past the one place that cleans it: what the linter cannot see."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.paths import ROOT

PACKAGES = ("queuepool", "consumer", "coordinator")
# module -> what it alone may use
ALLOWED: dict[str, set[str]] = {
    "queuepool/telemetry/printing.py": {
        "sys.stdout",
        "sys.stderr",
        "sys.__stderr__",
        "sys.stdin",
        "argparse.ArgumentParser",
    },
    "queuepool/telemetry/logs.py": {
        "sys.stderr",
        "logging.StreamHandler",
        "logging.Formatter",
        "logging.basicConfig",
        "logging.lastResort",
    },
    "queuepool/telemetry/consoles.py": {"rich.console.Console"},
    "queuepool/cli/display/output.py": {"rich.console.Console", "rich.text.Text(...)"},
    "queuepool/cli/display/tables.py": {"rich.text.Text(...)"},  # puts cells together
    "queuepool/cli/rows/rows.py": {"sys.stdin"},
    # Runs before anything of ours can be imported; its text is a constant.
    "queuepool/process/launch.py": {"sys.exit(text)"},
}
GUARDED = {
    "sys.stdout", "sys.stderr", "sys.stdin", "sys.__stdout__", "sys.__stderr__",
    "argparse.ArgumentParser", "logging.StreamHandler", "logging.Formatter",
    "logging.basicConfig", "logging.lastResort",
    "traceback.print_exc", "traceback.print_exception", "traceback.print_stack",
    "traceback.print_tb", "pprint.pprint", "rich.print", "warnings.showwarning",
}  # fmt: skip
IMPORTED = {"rich.console": "Console", "rich.text": "Text", "rich": "print", "getpass": "getpass"}
_HOLDS_TEXT = (ast.JoinedStr, ast.BinOp)


def dotted(node: ast.expr) -> str:
    """Return a.b.c of an expression that is just that, else the empty text."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


def is_text(node: ast.expr) -> bool:
    return isinstance(node, _HOLDS_TEXT) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def typing_only(tree: ast.AST) -> set[ast.AST]:
    """Return the annotations of arguments, results and variables, and what is for them alone."""
    found: list[ast.AST | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and dotted(node.test) == "TYPE_CHECKING":
            found.append(node)
        elif isinstance(node, ast.arg | ast.AnnAssign):
            found.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(node.returns)
    return {inner for part in found if part is not None for inner in ast.walk(part)}


def uses(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and name of everything in a module that writes past the one place."""
    tree = ast.parse(source)
    skipped = typing_only(tree)
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Attribute) and dotted(node) in GUARDED:
            yield node.lineno, dotted(node)
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                if whole in GUARDED or name.name == IMPORTED.get(node.module or ""):
                    yield node.lineno, f"{whole}(...)" if whole == "rich.text.Text" else whole
        elif isinstance(node, ast.Call):
            yield from _calls(node)


def _calls(node: ast.Call) -> Iterator[tuple[int, str]]:
    called = dotted(node.func)
    if called in ("print", "input", "breakpoint", "help"):
        yield node.lineno, called
    elif called in ("sys.exit", "SystemExit", "exit", "quit") and any(map(is_text, node.args)):
        yield node.lineno, "sys.exit(text)"
    elif called == "os.write" and node.args and isinstance(node.args[0], ast.Constant):
        yield node.lineno, "os.write to a stream"
    elif called == "open" and any("/dev/" in ast.unparse(argument) for argument in node.args):
        yield node.lineno, "open of a device"


def modules() -> list[str]:
    found = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def test_modules_print_only_through_the_one_place() -> None:
    past = [
        f"{module}:{line} {name}"
        for module in modules()
        for line, name in uses((ROOT / module).read_text())
        if name not in ALLOWED.get(module, set())
    ]

    assert past == [], (
        "use queuepool.telemetry.printing, queuepool.telemetry.logs or queuepool.cli.display.output"
    )


@pytest.mark.parametrize(
    "code",
    [
        "print('x')",
        "import sys\nsys.stdout.write('x')",
        "import sys\nout = sys.stderr",
        "from sys import stdout",
        "import sys\nsys.exit(f'{1}')",
        "raise SystemExit('x' + y)",
        "import argparse\nargparse.ArgumentParser()",
        "def f():\n    from rich.console import Console",
        "from rich.text import Text",
        "from rich import print",
        "import traceback\ntraceback.print_exc()",
        "import logging\nlogging.basicConfig()",
        "import os\nos.write(1, b'x')",
        "open('/dev/tty', 'w')",
        "input('?')",
    ],
)
def test_the_rule_sees_every_way_to_print(code: str) -> None:
    assert list(uses(code))


def test_the_rule_lets_types_and_other_files_be() -> None:
    code = (
        "import os\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
        "    from rich.text import Text\ndef f(p: argparse.ArgumentParser) -> None: ...\n"
        "os.write(fd, b'x')\nfile.write('x')\nsys.exit(main())\n"
    )

    assert list(uses(code)) == []
