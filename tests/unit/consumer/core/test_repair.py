"""When an owner repairs its partition by itself."""

from collections.abc import Sequence

from consumer.core import events
from consumer.core.steps.repair import Repair
from consumer.core.turn import Turn
from queuepool.errors import ForeignValueError, ScriptError, UnavailableError
from queuepool.models import AuditReport
from queuepool.servers import Reply
from queuepool.verbs import Verb

FOREIGN = ForeignValueError("WRONGTYPE")


def turn(repair: Repair, at_s: float, **replies: Reply) -> None:
    verbs: Sequence[Verb[int]] = [Verb(name, (), int) for name in replies]
    repair.on_replies(verbs, list(replies.values()), at_s)


def test_what_is_taken_away_in_time_is_left_alone() -> None:
    repair = Repair(lease_s=10.0)

    for now_s in (1.0, 2.0, 2.9):
        turn(repair, now_s, claim=FOREIGN)
    for now_s in (3.0, 4.0, 5.0):
        turn(repair, now_s, claim=1)

    assert not repair.pending


def test_what_stays_is_repaired_page_by_page_and_reported_once() -> None:
    repair = Repair(lease_s=10.0)
    turn(repair, 1.0, claim=FOREIGN, renew=1)
    turn(repair, 2.0, renew=1)
    turn(repair, 3.0, claim=FOREIGN)
    pages, audit = [], Turn(3.0)

    while repair.pending:
        (verb,) = repair.verbs(audit)
        pages.append(list(verb.args))
        cursor = b"0" if len(pages) == 3 else b"%d:0:0" % len(pages)
        repair.on_reply((cursor, AuditReport(foreign=1, unbalanced=5 - len(pages))), audit)

    assert pages == [[b"0", 1], [b"1:0:0", 1], [b"2:0:0", 1]]
    assert audit.events == [events.Repaired(AuditReport(foreign=3, unbalanced=2))]


def test_a_short_lease_leaves_less_time() -> None:
    repair = Repair(lease_s=1.0)
    turn(repair, 1.0, renew=FOREIGN)

    turn(repair, 1.5, renew=FOREIGN)

    assert repair.pending


def test_refusals_with_an_answer_in_between_are_not_one() -> None:
    repair = Repair(lease_s=10.0)

    for now_s in (1.0, 2.0, 3.0, 4.0):
        turn(repair, now_s, claim=FOREIGN)
        turn(repair, now_s + 0.5, claim=1)

    assert not repair.pending


def test_refusals_far_apart_are_not_one() -> None:
    repair = Repair(lease_s=10.0)

    for now_s in (1.0, 10.0, 11.0, 20.0):
        turn(repair, now_s, promote=FOREIGN)

    assert not repair.pending


def test_other_errors_are_not_its_business() -> None:
    repair = Repair(lease_s=10.0)

    for now_s in (1.0, 2.0, 3.0, 4.0):
        turn(repair, now_s, claim=ScriptError("NOPERM"), renew=UnavailableError("away"))

    assert not repair.pending


def test_a_value_that_comes_again_is_repaired_again() -> None:
    repair = Repair(lease_s=10.0)
    pending: list[bool] = []
    for now_s in (1.0, 10.0):
        turn(repair, now_s, claim=FOREIGN)
        turn(repair, now_s + 2.0, claim=FOREIGN)
        pending.append(repair.pending)
        repair.on_reply((b"0", AuditReport()), Turn(4.0))

    assert pending == [True, True]
