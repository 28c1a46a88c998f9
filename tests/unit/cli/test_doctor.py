"""What `queuepool doctor` prints."""

import pytest

from queuepool.cli.commands.doctor import print_verdict
from queuepool.models.doctor import Unjudged, Verdict
from queuepool.telemetry.doctor import judge
from tests.unit.telemetry.doctor import queues as q


@pytest.mark.parametrize(("why", "said"), [
    ("needs a coordinator, which keeps a history", "no problems found"),
    ("could not be read", "no problems found in what could be read"),
])  # fmt: skip
def test_what_could_not_be_read_is_not_called_well(
    why: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_verdict(Verdict(at_ms=0, unjudged=(Unjudged("no-leader", why),)))

    assert capsys.readouterr().out.splitlines()[0] == said


def test_a_task_with_a_line_break_in_its_name_is_shown_as_status_shows_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_verdict(judge(q.one_place(aside=1, aside_tasks=("no\npe",))))

    printed = capsys.readouterr().out
    assert r"'no\npe'" in printed
    assert "no pe" not in printed
