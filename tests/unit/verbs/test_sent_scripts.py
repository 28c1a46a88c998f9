"""What servers are sent of a script."""

from __future__ import annotations

import pytest

from queuepool.verbs.scripts import named, names, script


def test_servers_are_sent_neither_comments_nor_indentation() -> None:
    source = b"#!lua flags=no-writes\n-- a comment\nif a then\n  -- another\n  b() -- third\nend\n"

    assert named("x", source).code == b"#!lua flags=no-writes\nif a then\nb() -- third\nend\n"


@pytest.mark.parametrize("name", names())
def test_every_statement_of_a_script_is_sent(name: str) -> None:
    lines = [line.strip(b" ") for line in script(name).source.split(b"\n")]

    assert script(name).code.split(b"\n") == [x for x in lines if not x.startswith(b"--")]


@pytest.mark.parametrize("name", names())
def test_no_text_of_a_script_spans_lines(name: str) -> None:
    # It would lose its indentation, or lines that look like comments
    code = b"\n".join(line.partition(b"--")[0] for line in script(name).source.split(b"\n"))

    assert b"[[" not in code
    assert b"\\\n" not in code
