"""Limit: what it accepts, what it says of mistakes, and the text that scripts read."""

from __future__ import annotations

from typing import Any

import pytest

from queuepool import InvalidInputError, Limit

LIMITS = {
    "20:1000000:20:0:0:0": {"rate": 20},
    "5000:3600000000:1:0:0:0": {"rate": 5000, "per_s": 3600},
    "100:60000000:50:0:0:0": {"rate": 100, "per_s": 60, "burst": 50},
    "0:0:1:4:0:0": {"concurrency": 4},
    "10:1000000:10:3:0:0": {"rate": 10, "concurrency": 3},
    "2:1000000:2:0:2:90": {"rate": "adaptive", "least": 2, "most": 90},
}


@pytest.mark.parametrize(("text", "arguments"), LIMITS.items(), ids=LIMITS)
def test_a_definition_is_read_back_as_the_same_limit(text: str, arguments: dict[str, Any]) -> None:
    limit = Limit("mail", **arguments)

    again = Limit.from_definition("mail", text)

    assert limit.definition == text
    assert again is not None
    assert again.definition == text
    assert (again.rate, again.per_s, again.concurrency) == (
        limit.rate,
        limit.per_s,
        limit.concurrency,
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "bounds nothing"),
        ({"rate": 0}, "rate=0: use a whole number from 1 to 1,000,000"),
        ({"rate": 0.5}, "for fewer than one in a second use per_s"),
        ({"rate": True}, "rate=True"),
        ({"rate": "fast"}, 'or "adaptive"'),
        ({"rate": 5, "per_s": 0}, "per_s=0"),
        ({"rate": 5, "per_s": float("nan")}, "per_s=nan"),
        ({"rate": 5, "burst": -1}, "burst=-1"),
        ({"concurrency": 10**7}, "concurrency=10000000"),
        ({"concurrency": 5, "burst": 3}, "without a rate"),
        ({"rate": "adaptive"}, "needs least and most"),
        ({"rate": "adaptive", "least": 9, "most": 3}, "least <= most"),
        ({"rate": 3, "most": 9}, "belong to"),
    ],
)
def test_a_mistake_is_told_with_the_name_and_the_value(
    arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInputError, match="limit 'mail': ") as refused:
        Limit("mail", **arguments)

    assert said in str(refused.value)


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "a,b", "é", None, b"mail"])
def test_a_name_has_the_characters_that_it_may_have(name: Any) -> None:
    with pytest.raises(InvalidInputError, match="cannot be named"):
        Limit(name, rate=1)


@pytest.mark.parametrize("text", ["", "1", "x:1:1:1:1:1", "5:0:1:0:0:0", "0:0:0:0:0:0", "9" * 99])
def test_what_is_no_definition_is_read_as_none(text: str) -> None:
    assert Limit.from_definition("mail", text) is None
