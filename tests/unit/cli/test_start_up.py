"""The command line answers quickly: nothing heavy is imported before it is needed."""

import subprocess
import sys

import pytest

from queuepool import __version__
from queuepool.cli import main
from queuepool.cli.exits import Exit

pytestmark = pytest.mark.thorough

HEAVY = ("grpc", "google.protobuf", "pydantic", "pydantic_settings", "rich", "prometheus_client")


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["bulk", "--help"], ["dead"]])
def test_help_and_mistakes_import_nothing_heavy(words: list[str]) -> None:
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({HEAVY!r})); "
        "from queuepool.cli import main; main(sys.argv[1:])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == (2 if words == ["dead"] else 0), done.stderr
    assert "Traceback" not in done.stderr


def test_help_lists_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])

    shown = capsys.readouterr().out
    for code in Exit:
        assert f"{code.value}  {code.meaning}" in shown


def test_the_version_is_that_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])

    assert capsys.readouterr().out.strip() == f"queuepool {__version__}"


@pytest.mark.parametrize(
    "words",
    [
        ["scale", "x", "3"],
        ["scale", "1", "0"],
        ["scale", "1", "3", "--for", "soon"],
        ["bulk", "f.csv"],
        ["up"],
        ["demo", "--items", "-1"],
        ["dead", "list", "--older-than", "yesterday"],
        ["nonsense"],
    ],
)
def test_what_cannot_be_understood_is_a_usage_error(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)

    assert ended.value.code == Exit.USAGE
    assert "queuepool" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "command", "unknown"),
    [
        ("schedule set nightly --every 1h --task greet --key n", "schedule set", "--task"),
        ("faults hello --task greet", "faults", "--task greet"),
        ("dead replay --all --yes", "dead replay", "--yes"),
        ("--nonsense status", "", "--nonsense"),
    ],
)
def test_an_unknown_argument_is_told_with_the_usage_of_its_command(
    line: str, command: str, unknown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line.split())

    assert ended.value.code == Exit.USAGE
    name = f"queuepool {command}".strip()
    said = capsys.readouterr().err
    assert said.startswith(f"usage: {name} [-h]")
    assert said.endswith(f"\n{name}: error: unrecognized arguments: {unknown}\n")
