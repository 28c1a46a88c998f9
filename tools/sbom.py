"""The software bill of materials: what queuepool runs on, with versions, licences and who needs it.

Run: `python -m tools.sbom --out build/sbom.cdx.json`, or `make sbom`.

cyclonedx-py describes this environment, without network access; development dependencies are left
out. The same environment gives the same bytes. Installed versions must match constraints.txt, so
the file describes the versions that everyone gets who installs with it. It applies to this platform
and version of Python: async-timeout, for instance, is only needed by Python 3.11.2.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_READ_BY_US = {"protobuf": "BSD-3-Clause"}  # its metadata names none, its LICENSE file does
Bill = dict[str, Any]


def normalised(requirement: str) -> str:
    """Return the normalized name of a requirement."""
    found = _NAME.match(requirement)
    if found is None:
        raise ValueError(f"{requirement!r} names no package")
    return re.sub("[-_.]+", "-", found[0]).lower()


def runtime_dependencies() -> list[str]:
    """Return the names in pyproject.toml that every installation gets."""
    return sorted(normalised(each) for each in _requirements())


def _requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return list(project["dependencies"])


def runtime_graph() -> dict[str, set[str]]:
    """Return who needs whom at run time, by name; "" is queuepool itself.

    Dependencies of unrequested extras are left out, even if installed.
    """
    graph: dict[str, set[str]] = {"": set()}
    waiting = [("", Requirement(each)) for each in _requirements()]
    seen: set[tuple[str, str]] = set()
    while waiting:
        needing, wanted = waiting.pop()
        name = normalised(wanted.name)
        graph.setdefault(needing, set()).add(name)
        graph.setdefault(name, set())
        for extra in {"", *wanted.extras} - {e for n, e in seen if n == name}:
            seen.add((name, extra))
            for text in distribution(name).requires or ():
                further = Requirement(text)
                if further.marker is None or further.marker.evaluate({"extra": extra}):
                    waiting.append((name, further))
    return graph


def locked() -> dict[str, set[str]]:
    """Return the versions of each package in constraints.txt; one by platform and Python each."""
    versions: dict[str, set[str]] = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        name, equals, version = line.partition("==")
        if equals and not line.startswith((" ", "#")):
            versions.setdefault(normalised(name), set()).add(version.split(";")[0].strip())
    return versions


def pruned(bill: Bill, graph: Mapping[str, set[str]]) -> Bill:
    """Return a bill with only the packages of the graph, and their dependencies."""
    root = bill["metadata"]["component"]["bom-ref"]
    references = {normalised(c["name"]): c["bom-ref"] for c in bill["components"]}
    references = {name: references[name] for name in graph if name} | {"": root}
    return {
        **bill,
        "components": [
            _with_licence(c) for c in bill["components"] if c["bom-ref"] in references.values()
        ],
        "dependencies": [
            {"ref": references[name], "dependsOn": sorted(references[each] for each in needs)}
            for name, needs in sorted(graph.items())
        ],
    }


def _with_licence(component: Bill) -> Bill:
    licence = _READ_BY_US.get(normalised(component["name"]))
    if licence is None or component.get("licenses"):
        return component
    concluded = {"license": {"id": licence, "acknowledgement": "concluded"}}
    return {**component, "licenses": [concluded]}


def problems(bill: Bill, versions: Mapping[str, set[str]]) -> list[str]:
    """Return which installed packages differ from constraints.txt."""
    return [
        f"{c['name']} {c['version']} is installed, constraints.txt has "
        + (" or ".join(sorted(versions.get(normalised(c["name"]), ()))) or "none")
        for c in bill["components"]
        if c["version"] not in versions.get(normalised(c["name"]), ())
    ]


def environment() -> Bill:
    """Return the bill of everything in this environment."""
    words = ["environment", "--output-reproducible", "--mc-type", "library", "--pyproject"]
    program = str(Path(sys.executable).parent / "cyclonedx-py")
    done = subprocess.run(
        [program, *words, str(ROOT / "pyproject.toml"), sys.executable],
        capture_output=True,
        timeout=120,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"cyclonedx-py failed:\n{done.stderr.decode(errors='replace')}")
    return dict(json.loads(done.stdout))


def written(bill: Bill) -> str:
    """Return the text of a bill, the same for the same bill."""
    return json.dumps(bill, indent=2, sort_keys=True) + "\n"


def main() -> int:
    """Write the bill; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.sbom")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "sbom.cdx.json")
    path: Path = parser.parse_args().out
    try:
        graph = runtime_graph()
    except PackageNotFoundError as error:
        print(f"{error.name} is not installed here; run `make check` first", file=sys.stderr)
        return 1
    bill = pruned(environment(), graph)
    if found := problems(bill, locked()):
        print("\n".join(found), file=sys.stderr)
        print("install with --constraint constraints.txt, as `make check` does", file=sys.stderr)
        return 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(written(bill))
    print(f"{path}: {len(bill['components'])} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
