"""Render the Helm chart of deploy/ into plain manifests, for those without Helm.

Run: `python -m tools.manifests --write | --check`.

The manifests name the chart that they were made of by its digest, so that a chart that changed is
noticed without Helm. Rendering needs the extra `deploy`.
"""

import argparse
import hashlib
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "deploy" / "helm" / "queuepool"
PLAIN = ROOT / "deploy" / "kubernetes" / "queuepool.yaml"
RELEASE = "queuepool"
_OF_HELM = re.compile(r"^ *(helm\.sh/chart|app\.kubernetes\.io/managed-by): .*\n", re.MULTILINE)


def digest() -> str:
    """Return what changes with any file of the chart."""
    found = hashlib.sha256()
    for path in sorted(path for path in CHART.rglob("*") if path.is_file()):
        found.update(f"{path.relative_to(CHART).as_posix()}\0".encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def rendered(values: dict[str, Any] | None = None) -> dict[str, str]:
    """Return the manifests by template. Raises ImportError without the extra `deploy`."""
    from helm_python import Chart

    chart = Chart.load(str(CHART))
    made: dict[str, str] = chart.render(values or {}, name=RELEASE, namespace="default")
    return {Path(name).name: text for name, text in made.items() if text.strip()}


def plain() -> str:
    """Return the chart with its default values as one file. Raises ImportError."""
    made = rendered()
    del made["NOTES.txt"]
    head = (
        "# The Helm chart of deploy/helm/queuepool with its default values, for those without it.\n"
        "# Written by `python -m tools.manifests --write`; do not edit. Change image and\n"
        "# partitions in a copy, or with kustomize.\n"
        f"# chart: {digest()}\n"
    )
    texts = [
        _OF_HELM.sub("", text).strip().removeprefix("---\n") for _, text in sorted(made.items())
    ]
    return head + "".join(f"---\n{text}\n" for text in texts)


def is_current() -> bool:
    """Return whether the manifests were made of this chart."""
    return f"# chart: {digest()}\n" in PLAIN.read_text()


def main() -> int:
    """Write the manifests, or compare them with the chart."""
    parser = argparse.ArgumentParser(description=__doc__)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--write", action="store_true", help="replace the manifests")
    mode.add_argument("--check", action="store_true", help="fail when they are not current")
    if parser.parse_args().write:
        PLAIN.write_text(plain())
        return 0
    if not is_current():
        print(f"{PLAIN.relative_to(ROOT)}: run `python -m tools.manifests --write`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
