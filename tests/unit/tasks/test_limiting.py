"""What `limit=` may say, which gate that makes of a payload, and what code declares."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Any
from uuid import UUID

import pytest

from queuepool import InvalidInputError, Limit, Registry
from queuepool.tasks.limiting import declared, limits_of


class Plan(Enum):
    FREE = "free"


class Region(StrEnum):
    EU = "eu"


@pytest.mark.parametrize(
    ("limit", "gate"),
    [
        ("mail", b"mail"),
        ("mail:{account}", b"mail:7"),
        ("{name}", b"Ada"),
        ("{plan}/{region}@{account}", b"free/eu@7"),
        ("{id}", b"00000000-0000-0000-0000-000000000007"),
        (Limit("mail", rate=1), b"mail"),
        (Limit("mail:{account}", rate=1), b"mail:7"),
        (lambda p: f"f-{p['account']}", b"f-7"),
        (lambda _p: ["z", "a"], b"a,z"),
        (lambda _p: ("a", "a"), b"a"),
        (lambda _p: None, b""),
        ((), b""),
        ([], b""),
        (["z", "a:{name}", lambda _p: "k", Limit("b", rate=1)], b"a:Ada,b,k,z"),
        (["mail", Limit("mail", rate=1), "mail", "mail", "mail"], b"mail"),
        (["{name}", "{name}", "{name}", "{name}", "{name}"], b"Ada"),
        (["m:7", "m:{account}", lambda _p: ["m:7", "b", "c", "d"]], b"b,c,d,m:7"),
        ("x" * 64, b"x" * 64),
    ],
)
def test_names_are_sorted_and_joined_once_each(limit: Any, gate: bytes) -> None:
    payload = {
        "account": 7, "name": "Ada", "plan": Plan.FREE, "region": Region.EU, "id": UUID(int=7),
    }  # fmt: skip

    assert limits_of(limit).gate(payload) == gate


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("", "cannot be named ''"),
        ("a b", "1 to 64 of A-Z"),
        ("a,b", "1 to 64 of A-Z"),
        ("x" * 65, "1 to 64 of A-Z"),
        ("mail:{account", "use fields of the payload"),
        ("mail:{}", "use fields of the payload"),
        ("mail {account}", "use fields of the payload"),
        ("x" * 64 + "{account}", "names of at most 64"),
        (["a", "b", "c", "d", "e"], "5 limits; a job may name 4"),
        (["a", "b", "c", "{x}", lambda _p: "e"], "5 limits; a job may name 4"),
        (7, "7 names no limit; use a name, a template"),
        (b"mail", "names no limit"),
        (Limit, "names no limit"),
        ([None], "None names no limit"),
        ([["mail"]], "names no limit"),
        ({"mail"}, "names no limit"),
    ],
)
def test_what_names_no_limit_is_refused_at_once(limit: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        limits_of(limit)


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("mail:{to}", "'mail:ada@x, bob' would be the limit.*Hash or clean other values in a fun"),
        ("{long}", "would be the limit of this job"),
        ("{none}", "'none' of the payload, which is None: it must be text, a whole number"),
        ("{empty}", "which is ''"),
        ("{flag}", "which is True"),
        ("{price}", "which is 1.5"),
        ("{nobody}", "'nobody' of the payload, which the job does not have"),
        (lambda _p: "a b", "returned 'a b' for this job, and 'a b' is not a valid limit name"),
        (lambda _p: ["a", 7], "and 7 is not a valid limit name"),
        (lambda _p: "", "and '' is not a valid limit name"),
        (lambda _p: 7, "and 7 is not a valid limit name"),
        (lambda _p: Limit("a", rate=1), "is not a valid limit name"),
        (lambda _p: "mail:{to}", "is not a valid limit name"),
        (lambda _p: list("edcba"), "names 5: a, b, c, d, e;"),
        (["a", "b", "c", lambda _p: ["d", "e"]], "names 5: a, b, c, d, e;"),
    ],
)
def test_what_a_payload_makes_no_name_of_is_refused(limit: Any, said: str) -> None:
    values = {"none": None, "empty": "", "flag": True, "price": 1.5, "long": "x" * 65}
    limits = limits_of(limit)

    with pytest.raises(InvalidInputError, match=said) as refused:
        limits.gate({"to": "ada@x, bob", **values})

    assert "nothing was enqueued for it" in str(refused.value)


def test_a_template_of_a_task_names_its_parameters_and_takes_their_defaults(
    registry: Registry,
) -> None:
    @registry.task(limit="mail:{account}")
    def send(to: str, account: str = "main") -> None: ...

    takes = send.task.signature
    assert limits_of("mail:{account}", takes).gate({"to": "a"}) == b"mail:main"
    assert limits_of("mail:{account}", takes).gate({"to": "a", "account": 7}) == b"mail:7"
    with pytest.raises(
        InvalidInputError, match=r"'acount' is not a parameter of task 'send'; .*: acc"
    ):
        limits_of("mail:{acount}", takes)
    with pytest.raises(InvalidInputError, match="'who' is not a parameter of task 'other'"):
        registry.task(name="other", limit="mail:{who}")(lambda to: None)

    @registry.task(limit="mail:{anything}")
    def any_field(**fields: int) -> None: ...

    assert limits_of("{anything}", any_field.task.signature).gate({"anything": 1}) == b"1"


def test_the_definition_of_a_name_is_what_tasks_declare(registry: Registry) -> None:
    mail, account = Limit("mail", rate=20), Limit("mail:{account}", rate=5)
    of_vip, both = Limit("mail:vip-{account}", rate=9), Limit("{a}-{b}/x", concurrency=2)
    registry.task(name="a", limit=mail)(lambda: None)
    registry.task(name="b", limit=["plain", account, of_vip, mail])(lambda account: None)
    registry.task(name="c", limit=[both, Limit("mail:{who}", rate=5)])(lambda a, b, who: None)
    registry.task(name="d")(lambda: None)

    definition_of = declared(registry)

    wanted = {
        "mail": mail, "mail:1": account, "mail:a/b": account, "mail:vip-": account,
        "mail:vip-1": of_vip, "1-2/x": both, "1-2/x/x": both, "1--/x": both,
    }  # fmt: skip
    for name, limit in wanted.items():
        assert definition_of(name) == limit.definition, name
    for name in ("plain", "mail:", "mai", "xmail:1", "-2/x", "1-/x", "1-2/y", ""):
        assert definition_of(name) == "", name


def test_a_name_that_matches_almost_takes_no_long_time() -> None:
    registry = Registry()
    fields = [f"f{n}" for n in range(21)]
    template = "-".join(f"{{{field}}}" for field in fields) + "/"
    registry.task(name="t", limit=Limit(template, rate=1))(lambda **fields: None)

    definition_of = declared(registry)

    assert definition_of("-" * 64) == ""  # would be tried in 10^15 ways
    assert definition_of("-".join("x" * 21) + "/") != ""


def test_two_definitions_of_one_limit_are_refused(registry: Registry) -> None:
    registry.task(name="a", limit=Limit("mail:{x}", rate=5))(lambda x: None)

    with pytest.raises(InvalidInputError, match=r"is declared twice.*by task 'a'.*by task 'b'"):
        registry.task(name="b", limit=["z", Limit("mail:{y}", rate=6)])(lambda y: None)
    with pytest.raises(InvalidInputError, match="'z' is declared twice"):
        registry.task(name="b", limit=[Limit("z", rate=5), Limit("z", rate=6)])(lambda: None)

    assert registry.find("b") is None
    registry.task(name="b", limit=Limit("mail:{y}", rate=5))(lambda y: None)


def test_a_task_that_is_registered_again_may_declare_something_else() -> None:
    registry = Registry()
    for rate in (1, 2):  # as a module that is imported again
        registry.task(name="t", limit=Limit("mail", rate=rate))(_same)

    assert declared(registry)("mail") == Limit("mail", rate=2).definition


def _same() -> None: ...
