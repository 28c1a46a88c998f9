"""Build the documentation as a site: `python -m tools.site [--out build/site]`, needs extra `docs`.

The pages are those of the repository, in the reading order of docs/README.md, which is the
navigation as well. The build fails for a page that is in no list, a link or heading that is not
there, and anything that a browser would fetch from another host. The search works offline, also
from files.
"""

from __future__ import annotations

import argparse
import logging
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_ITEM = re.compile(r"^\d+\. (.+?)(?=^\d+\. |\Z)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)#]+\.md)\)")
_SECTION = re.compile(r"^\*\*(.+?)\*\*$", re.MULTILINE)
_COPIED = {".md", ".svg", ".png", ".json", ".yaml", ".proto", ".toml", ".conf", ".service"}
_SHIM = '<script src="https://unpkg.com/iframe-worker/shim"></script>'
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_FETCHED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=[\"']?(?:https?:)?//"
    r"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preconnect|preload|icon|modulepreload))"
    r"[^>]*\bhref=[\"']?(?:https?:)?//"
    r"|@import[^;]*//|url\([\"']?(?:https?:)?//",
    re.IGNORECASE,
)
_EXTENSIONS: list[Any] = [
    "admonition",
    "attr_list",
    "tables",
    "pymdownx.highlight",
    "pymdownx.superfences",
    "pymdownx.saneheaders",
]


def navigation(reading: str) -> list[Any]:
    """Return the sections of docs/README.md, with the pages that each item links."""
    nav: list[Any] = [{"queuepool": "README.md"}]
    parts = _SECTION.split(reading)
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        pages: list[Any] = []
        for item in _ITEM.findall(text.partition("\n\nTests verify")[0]):
            for name, path in _LINK.findall(item.partition(":")[0]):
                place = (ROOT / "docs" / path).resolve().relative_to(ROOT)
                pages.append({name[0].upper() + name[1:]: str(place)})
                if path == "adr/README.md":
                    pages[-1] = {name: [str(place), *_decisions()]}
        nav.append({title: pages})
    return nav


def _decisions() -> list[Any]:
    found = sorted((ROOT / "docs" / "adr").glob("0*.md"))
    return [{_title(page): str(page.relative_to(ROOT))} for page in found]


def _title(page: Path) -> str:
    found = _TITLE.search(page.read_text())
    return found[1] if found else page.stem


def stage(folder: Path) -> None:
    """Copy what the repository has of pages, and the files that they link, to a folder."""
    for top in ("docs", "deploy", "proto", "benchmarks", "examples"):
        for file in (ROOT / top).rglob("*.*"):
            if file.suffix in _COPIED and "results" not in file.parts:
                _copy(file, folder)
    for file in [*ROOT.glob("*.md"), ROOT / "LICENSE"]:
        _copy(file, folder)


def _copy(file: Path, folder: Path) -> None:
    target = folder / file.relative_to(ROOT)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)


def config(pages: Path, out: Path) -> dict[str, Any]:
    """Return the settings of the site."""
    warn = {"not_found": "warn", "absolute_links": "warn", "unrecognized_links": "ignore"}
    return {
        "site_name": "queuepool",
        "docs_dir": str(pages),
        "site_dir": str(out),
        "use_directory_urls": False,  # pages open from files
        "strict": True,
        "nav": navigation((ROOT / "docs" / "README.md").read_text()),
        "not_in_nav": "/docs/README.md\n/deploy/**\n",
        "exclude_docs": "/deploy/helm/\n",
        "validation": {
            "nav": {"omitted_files": "warn", "not_found": "warn", "absolute_links": "warn"},
            "links": warn | {"anchors": "warn"},
        },
        "theme": {
            "name": "material",
            "font": False,  # the reader's own: nothing is fetched
            "features": ["navigation.sections", "search.highlight", "search.share"],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default"},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate"},
            ],
        },
        "plugins": ["search", "offline"],
        "extra": {"generator": False},
        "markdown_extensions": [*_EXTENSIONS, {"toc": {"slugify": _slug, "permalink": True}}],
    }


def _slug(text: str, separator: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    plain = re.sub(r"<[^>]+>", "", text).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", separator)


def search_offline(out: Path) -> None:
    """Let pages take our own script where the theme names one of another host."""
    own = (ROOT / "tools" / "offline_search.js").read_text()
    for page in out.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace(_SHIM, f"<script>{own}</script>"), encoding="utf-8")


def fetched(out: Path) -> list[str]:
    """Return what pages and styles would fetch from other hosts."""
    return [
        f"{file.relative_to(out)}: {hit[0][:100]}"
        for file in sorted([*out.rglob("*.html"), *out.rglob("*.css")])
        for hit in _FETCHED.finditer(file.read_text(encoding="utf-8"))
    ]


def build(out: Path) -> int:
    """Build the site; return 0 if nothing is broken."""
    from mkdocs.commands.build import build as make
    from mkdocs.config import load_config
    from mkdocs.exceptions import MkDocsException

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    with tempfile.TemporaryDirectory() as name:
        pages = Path(name) / "pages"
        stage(pages)
        empty = Path(name) / "mkdocs.yml"
        empty.write_text("site_name: queuepool\n")
        try:
            settings = load_config(str(empty), **config(pages, out))
            settings.plugins.on_startup(command="build", dirty=False)
            make(settings)
        except MkDocsException as error:
            print(f"the site was not built: {error}", file=sys.stderr)
            return 1
    search_offline(out)
    elsewhere = fetched(out)
    for line in elsewhere:
        print(f"fetched from another host: {line}", file=sys.stderr)
    return 1 if elsewhere else 0


def main() -> int:
    """Build what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site")
    out = parser.parse_args().out
    code = build(out)
    if code == 0:
        print(f"open {out}/index.html")
    return code


if __name__ == "__main__":
    sys.exit(main())
