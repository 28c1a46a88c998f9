"""The picture of docs/architecture.md against the imports, and the shape of the folders."""

import ast
import re
from collections.abc import Iterator
from functools import cache

import grimp
import pytest

from tests.paths import ROOT

PACKAGES = ("queuepool", "consumer", "coordinator")
BOX = re.compile(r'^    (\w+)\["[^<]*<br/>(.*)"\]$', re.MULTILINE)
ARROW = re.compile(r"^    (\w+) --> (\w+)$", re.MULTILINE)
ENTRIES = {"queuepool": 16, "consumer": 8, "coordinator": 10}
PICTURE = (ROOT / "docs" / "architecture.md").read_text().partition("## Where things are")[2]
FOLDERS: dict[str, list[str]] = {box: folders.split(", ") for box, folders in BOX.findall(PICTURE)}
ARROWS = set(ARROW.findall(PICTURE))
# What stands in the root of a package: it belongs to the threads that it starts.
ROOTS: dict[str, str] = {"consumer": "consumer", "coordinator": "coordinator"}


def box_of(module: str) -> str | None:
    """Return the box of a dotted module, or None for the facade of queuepool itself."""
    path = module.replace(".", "/")
    for box, folders in FOLDERS.items():
        if any(path == folder or path.startswith(f"{folder}/") for folder in folders):
            return box
    return ROOTS.get(str(module.partition(".")[0]))


@cache
def imports() -> tuple[tuple[str, str], ...]:
    """Return all (module, imported module) at run time, within the three packages."""
    return tuple(_imports())


def _imports() -> Iterator[tuple[str, str]]:
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            tree = ast.parse(path.read_text())
            hidden = {
                id(inner)
                for node in ast.walk(tree)
                if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
                for inner in ast.walk(node)
            }
            for node in ast.walk(tree):
                if not isinstance(node, ast.ImportFrom) or id(node) in hidden:
                    continue
                if node.module and node.module.partition(".")[0] in PACKAGES:
                    for alias in node.names:
                        yield module, f"{node.module}.{alias.name}"


def above(box: str) -> set[str]:
    """Return the boxes that a box may import by the picture's arrows."""
    found: set[str] = set()
    waiting = [box]
    while waiting:
        start = waiting.pop()
        for source, target in ARROWS:
            if source == start and target not in found:
                found.add(target)
                waiting.append(target)
    return found


def test_the_picture_has_at_most_twelve_boxes_and_names_folders_that_exist() -> None:
    assert 8 <= len(FOLDERS) <= 12
    named = [folder for folders in FOLDERS.values() for folder in folders]
    assert [f for f in named if not any((ROOT / f"{f}{end}").exists() for end in ("", ".py"))] == []


def test_every_module_is_in_a_box() -> None:
    homeless = {module for module, _ in imports() if box_of(module) is None}

    assert homeless <= {"queuepool.__init__", "queuepool.__main__"}


def test_no_import_goes_where_no_arrow_of_the_picture_leads() -> None:
    wrong = {
        f"{module} imports {imported}"
        for module, imported in imports()
        if (here := box_of(module)) is not None
        and (there := box_of(imported)) is not None
        and there != here
        and there not in above(here)
    }

    assert wrong == set()


def test_every_arrow_of_the_picture_is_an_import() -> None:
    drawn = {(box_of(module), box_of(imported)) for module, imported in imports()}

    assert ARROWS
    assert drawn >= ARROWS


def test_no_modules_import_one_another_in_a_circle() -> None:
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True, cache_dir=None)
    left = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}

    while ends := {module for module, imported in left.items() if not imported & left.keys()}:
        left = {module: imported for module, imported in left.items() if module not in ends}

    assert sorted(left) == [], "in a circle, or importing one"


@pytest.mark.parametrize("package", PACKAGES)
def test_the_root_of_a_package_has_few_entries(package: str) -> None:
    entries = {
        path.name
        for path in (ROOT / package).iterdir()
        if (path.suffix == ".py" or any(path.rglob("*.py"))) and not path.name.startswith("__")
    }

    assert len(entries) <= ENTRIES[package], sorted(entries)
