"""docs/protocol.md says what the code does: every key, every script, the routing vectors."""

import re

import pytest

from queuepool.protocol import codec
from queuepool.protocol.keys import PARTITION_KEYS, SYSTEM_KEYS
from queuepool.routing.slots import group_of, partition_of, slot_of
from queuepool.verbs import scripts
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "protocol.md").read_text()


def section(title: str, text: str = PAGE) -> str:
    """Return what stands below a heading, up to the next one of its level or above."""
    match = re.search(rf"^(#+) {re.escape(title)}\n", text, re.MULTILINE)
    assert match, f"docs/protocol.md has no heading {title!r}: document it"
    rest = text[match.end() :]
    following = re.search(rf"^#{{1,{len(match[1])}}} ", rest, re.MULTILINE)
    return rest[: following.start()] if following else rest


def rows(text: str) -> list[list[str]]:
    """Return the cells of the rows of a table, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def header(name: str) -> dict[str, str]:
    """Return what a script's contract says: Flags, Keys and Arguments, on one line each."""
    shebang, *lines = scripts.script(name).source.decode().splitlines()
    said = {"Flags": shebang.partition("flags=")[2] or "none", "Arguments": "none"}
    field = None
    for line in lines:
        if not line.startswith("--"):
            break
        if match := re.match(r"-- (KEYS\[1\]|ARGV)\s+(.*)", line):
            field = {"KEYS[1]": "Keys", "ARGV": "Arguments"}[match[1]]
            said[field] = match[2]
        elif field and line.startswith("--         "):
            said[field] += f" {line[2:].strip()}"
        else:
            field = None
    return said


@pytest.mark.parametrize(
    ("title", "known"),
    [("Keys of a partition", PARTITION_KEYS), ("Keys of the system", SYSTEM_KEYS)],
)
def test_the_page_lists_exactly_the_keys_there_are(
    title: str, known: dict[str, tuple[str, str]]
) -> None:
    documented = {cells[0].strip("`"): cells[1] for cells in rows(section(title))}

    assert documented == {suffix: kind for suffix, (kind, _content) in known.items()}


def test_it_says_of_every_key_of_a_partition_what_a_move_does_with_it() -> None:
    said = " ".join(cells[0] for cells in rows(section("What a move carries")))

    stems = {key.partition(":")[0] for key in PARTITION_KEYS}
    assert set(re.findall(r"`(\w+)[:`]", said)) == stems


def test_the_page_lists_exactly_the_scripts_there_are() -> None:
    assert sorted(re.findall(r"^#### `(\w+)`$", PAGE, re.MULTILINE)) == scripts.names()


@pytest.mark.parametrize("name", scripts.names())
def test_a_script_is_documented_as_its_contract_says(name: str) -> None:
    text = re.sub(r"\n  +", " ", section(f"`{name}`"))  # an item may continue in further lines

    documented = dict(re.findall(r"^- (Flags|Keys|Arguments): `(.*)`$", text, re.MULTILINE))
    said = re.findall(r"^- (Reply|One script because|Cost): .", text, re.MULTILINE)

    assert documented == header(name)
    assert said == ["Reply", "One script because", "Cost"]


@pytest.mark.parametrize("name", scripts.names())
def test_a_contract_names_every_key_that_the_script_derives(name: str) -> None:
    source = scripts.script(name).source.decode()
    known = {suffix.partition(":")[0] for suffix in (*PARTITION_KEYS, *SYSTEM_KEYS)}

    derived = set(re.findall(r"(?:base|KEYS\[1\]) \.\. ':(\w+):?'", source))
    for names in re.findall(r"(?:in ipairs\(\{|check_hashes\()('.*?')\}?\)", source):
        derived |= set(re.findall(r"'(\w+)'", names))
    listed = re.sub("<[^>]*>", "", header(name)["Keys"].partition("derived:")[2]).split()
    named = {key.partition(":")[0] for key in listed}

    assert derived <= named <= known


def test_the_routing_vectors_are_what_routing_computes() -> None:
    vectors = [cells for cells in rows(section("Routing")) if cells[1].startswith("`")]

    for _label, shown, slot, of_4, of_8, group in vectors:
        repeated = re.fullmatch(r"`(\w+)` x (\d+)", shown)
        digits = repeated[1] * int(repeated[2]) if repeated else shown.strip("`")
        key = bytes.fromhex(digits)
        assert slot_of(key) == int(slot), shown
        assert (partition_of(int(slot), 4), partition_of(int(slot), 8)) == (int(of_4), int(of_8))
        assert group_of(key) == (key if group == "the same" else bytes.fromhex(group.strip("`")))
    assert len(vectors) >= 8


def test_the_example_of_a_body_is_one() -> None:
    examples = re.findall(r"^    (1\d\S+\[.*\])$", section("Body of a job"), re.MULTILINE)

    assert examples
    for example in examples:
        tier, enqueued_ms, slot, group, _end = codec.read_header(example.encode())
        envelope = codec.decode_envelope(example.encode())
        assert (tier, slot, group) == (2, slot_of(group), b"import-42")
        assert enqueued_ms > 1_700_000_000_000
        assert envelope.task == "import_row"
