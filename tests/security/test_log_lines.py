"""A record of a log is one line of ours: no one forges a second one, or steers whoever reads it."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuepool.client.group import JobDiedError
from queuepool.errors import ConfigurationError, QueuePoolError, escaping
from queuepool.models import ErrorRecord, JobId, JobState, JobStatus
from queuepool.telemetry import printing
from queuepool.telemetry.logs import JsonFormatter, TextFormatter
from tests.security.planted import NASTY, controls

FORGED = "\n2026-11-20 17:29:14,728 INFO    coordinator.audit: SetWorkers by operator: OK"


def record(message: str = "%s", args: tuple[Any, ...] = (), **extra: Any) -> logging.LogRecord:
    made = logging.LogRecord("x", logging.INFO, __file__, 1, message, args, None)
    vars(made).update(extra)
    return made


def text(made: logging.LogRecord) -> str:
    return TextFormatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s").format(made)


@given(st.text(max_size=60))
def test_a_record_is_one_line_whatever_is_in_its_message_and_values(stranger: str) -> None:
    line = text(record("job %s", (stranger,), group=stranger))

    assert not controls(line, allowed=())
    assert not line.count("\n")


@pytest.mark.parametrize("stranger", [NASTY, FORGED, "\r" + FORGED, "\u2028" + FORGED])
def test_json_and_text_hold_what_came_on_one_line(stranger: str) -> None:
    made = record("job %s", (stranger,), group=stranger)

    assert not controls(text(made), allowed=())
    line = JsonFormatter().format(made)
    assert line.isascii()
    assert not controls(line, allowed=())
    assert json.loads(line)["group"] == stranger


def test_a_value_cannot_be_taken_for_several() -> None:
    line = text(record("called", group='a reason=failed role="operator"', plain="abc", number=7))

    assert line.endswith(r'called group="a reason=failed role=\"operator\"" plain=abc number=7')


def test_the_lines_of_a_traceback_are_indented_and_nothing_else_is() -> None:
    try:
        raise ValueError(FORGED + NASTY)
    except ValueError as error:
        made = record("failed", exc_info=(type(error), error, error.__traceback__))

    first, *others = text(made).split("\n")

    assert first.endswith("x: failed")
    assert others
    assert [line for line in others if not line.startswith("    ")] == []
    assert not controls("".join(others))
    assert any("INFO    coordinator.audit" in line for line in others)


PROGRAM = """
import logging, sys, threading, warnings
from queuepool.telemetry.logs import configure
configure(sys.argv[1])
nasty = sys.argv[2]
logging.getLogger("app").info("%s", nasty)
logging.getLogger("app" + nasty).info("named")
warnings.warn(nasty)
def fail(): raise ValueError(nasty)
thread = threading.Thread(target=fail, name=nasty)
thread.start(); thread.join()
fail()
"""


@pytest.mark.parametrize("style", ["text", "json"])
def test_warnings_and_uncaught_errors_of_a_process_are_records_like_others(style: str) -> None:
    nasty = NASTY.replace("\x00", "") + FORGED
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, style, nasty], capture_output=True, check=False, timeout=60
    )

    err = done.stderr.decode()

    assert done.returncode == 1
    assert not controls(err)
    lines = err.splitlines()
    if style == "json":
        assert [json.loads(line)["level"] for line in lines] == [
            "info", "info", "warning", "critical", "critical",
        ]  # fmt: skip
    else:
        assert len([line for line in lines if not line.startswith(" ")]) == 5


def test_the_text_of_our_errors_is_one_line_that_steers_nothing() -> None:
    assert str(QueuePoolError(NASTY)) == escaping.visible(NASTY)
    assert QueuePoolError(NASTY).args == (NASTY,)
    several = ConfigurationError("one" + FORGED, "two")
    assert str(several).count("\n") == 1
    status = JobStatus(
        job_id=JobId("a"), state=JobState.DEAD, partition=0,
        error=ErrorRecord(reason=NASTY, type=NASTY, message=NASTY),
    )  # fmt: skip
    assert not controls(str(JobDiedError(status)), allowed=())


def test_an_error_that_nobody_caught_in_a_command_is_shown_indented(
    capsys: pytest.CaptureFixture[str],
) -> None:
    try:
        raise ValueError(FORGED + NASTY)
    except ValueError as error:
        printing.show_uncaught(type(error), error, error.__traceback__)

    first, *others = capsys.readouterr().err.splitlines()

    assert first == "Traceback (most recent call last):"
    assert [line for line in others if not line.startswith("  ")] == []
    assert not controls("".join(others))


def test_output_that_cannot_hold_a_character_shows_it_escaped() -> None:
    code = "from queuepool.telemetry import printing; printing.say('Z\\u00fcrich \\u6771 \\udcff')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, timeout=60,
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip

    assert done.stdout == b"Z\\xfcrich \\u6771 \\xff\n", done.stderr


def test_json_escapes_what_it_may_hold_raw_and_stays_exact() -> None:
    line = printing.json_line({NASTY: [NASTY, "\x7f\\\x7f"]})

    assert not controls(line, allowed=())
    assert json.loads(line) == {NASTY: [NASTY, "\x7f\\\x7f"]}


def test_what_a_command_logs_without_a_log_is_clean() -> None:
    code = (
        "import logging, sys; from queuepool import cli; cli.main(['acl', '--format', 'template']);"
        "logging.getLogger('queuepool.partitions.route').warning('%s', sys.argv[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, NASTY.replace("\x00", "")],
        capture_output=True, check=False, timeout=60,
    )  # fmt: skip

    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == 1
    assert not controls(done.stderr.decode())


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_a_command_without_a_stream_ends_without_a_traceback(closed: str) -> None:
    command = f"{sys.executable} -m queuepool acl --format template {closed}"
    done = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, check=False, timeout=60
    )  # fmt: skip

    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
