"""Every `queuepool ...` line on the pages is a command that can be typed."""

import re
import shlex

import pytest

from queuepool.cli.commands import COMMANDS
from queuepool.cli.parser import build_parser
from tests.paths import ROOT

COMMANDS_FOLDER = ROOT / "queuepool" / "cli" / "commands"
LINE = re.compile(
    r"^    queuepool (.+)$|`queuepool ((?!consumer`|coordinator`)[^`]+)`", re.MULTILINE
)
PLACEHOLDERS = {"PARTITION": "3", "N": "24", "MODULE": "app"}
# In running text a command may stand for all its forms.
STANDS_FOR_ALL = re.compile(
    r"^(up|bulk|dead|dead (list|show|replay|discard)|scale|job|group|job show|simulate|record"
    r"|replay)$"
)


def commands() -> list[tuple[str, str]]:
    """Return (page, words after `queuepool`) of everything that the pages show."""
    found = []
    for page in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]):
        for match in LINE.finditer(page.read_text()):
            words = (match[1] or match[2]).split("#")[0].split("|")[0].strip()
            if not STANDS_FOR_ALL.match(words) and not words.startswith(
                ("consumer", "coordinator")
            ):
                found.append((str(page.relative_to(ROOT)), words))
    return found


@pytest.mark.parametrize(("page", "words"), commands())
def test_a_command_on_a_page_can_be_typed(page: str, words: str) -> None:
    arguments = [PLACEHOLDERS.get(word, word) for word in shlex.split(words)]

    parsed = build_parser().parse_args(arguments)

    assert parsed.run


def test_every_command_is_on_a_page() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    shown = "\n".join(page.read_text() for page in pages if page.name != "CHANGELOG.md")

    missing = [c.name for c in COMMANDS if not re.search(rf"(queuepool|make) {c.name}\b", shown)]

    assert not missing, f"a user finds them on no page: {missing}"


def test_every_file_of_a_command_is_listed() -> None:
    files = {entry.stem for entry in COMMANDS_FOLDER.iterdir() if not entry.name.startswith("_")}

    assert files == {c.module.split(".")[0] for c in COMMANDS if c.module}
