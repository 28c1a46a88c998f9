"""Keep files small enough to be read in one go.

Run: `python -m tools.sizes`.

A module of more than 300 lines gets a warning and of more than 400 an error; a test file may
have 500, a Lua script 120 lines of code (its contract and comments do not count). A function of
the product has at most 40 lines. A line of Lua has at most 100 columns, which ruff checks in
Python.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("queuepool", "consumer", "coordinator", "tests", "benchmarks", "examples", "tools")
MODULE_WARNING, MODULE_LIMIT, TEST_LIMIT, LUA_LIMIT = 300, 400, 500, 120
LUA_COLUMNS, FUNCTION_LIMIT = 100, 40
PRODUCT = ("queuepool", "consumer", "coordinator")
GENERATED = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py")


def problems(root: Path) -> Iterator[tuple[str, str]]:
    """Yield ("warning" or "error", what is too large) for the files below `root`."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.*")):
            name = path.relative_to(root)
            if path.suffix == ".lua":
                source = path.read_text()
                for number, line in enumerate(source.splitlines(), 1):
                    if len(line) > LUA_COLUMNS:
                        yield "error", f"{name}:{number}: more than {LUA_COLUMNS} columns"
                size = _lua_code_lines(source)
                if size > LUA_LIMIT:
                    yield "error", f"{name}: {size} lines of code, at most {LUA_LIMIT} in a script"
            elif path.suffix == ".py" and not path.name.endswith(GENERATED):
                source = path.read_text()
                if folder in PRODUCT:
                    for function, size in _long_functions(source):
                        yield (
                            "error",
                            f"{name}: {function} has {size} lines, at most {FUNCTION_LIMIT}",
                        )
                size = len(source.splitlines())
                limit = TEST_LIMIT if folder == "tests" else MODULE_LIMIT
                if size > limit:
                    yield "error", f"{name}: {size} lines, at most {limit}"
                elif folder != "tests" and size > MODULE_WARNING:
                    yield "warning", f"{name}: {size} lines; at {limit} it must be split"


def _long_functions(source: str) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = (node.end_lineno or node.lineno) - node.lineno + 1
            if size > FUNCTION_LIMIT:
                yield node.name, size


def _lua_code_lines(source: str) -> int:
    lines = (line.strip() for line in source.splitlines())
    return sum(1 for line in lines if line and not line.startswith(("--", "#!")))


def main() -> int:
    """Print every file that is too large; return 1 if one exceeds its limit."""
    found = list(problems(ROOT))
    for severity, text in found:
        print(f"{severity}: {text}")
    return 1 if any(severity == "error" for severity, _ in found) else 0


if __name__ == "__main__":
    sys.exit(main())
