"""Models that would arrive changed are refused, as payloads and as results; others are not."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest
from pydantic import Field, SecretBytes, SecretStr

from queuepool import InvalidInputError
from queuepool.errors.jobs import BadResultError
from queuepool.protocol import codec
from queuepool.testing import MemoryPool


class Login(pydantic.BaseModel):
    user: str = "ada"
    password: SecretStr | None = None


class Site(pydantic.BaseModel):
    logins: dict[str, list[Login]] = {}
    parent: Site | None = None


class Keys(pydantic.RootModel[list[SecretBytes]]):
    pass


class Cached(pydantic.BaseModel):
    id: int
    seen: list[int] = Field(default_factory=list, exclude=True)


class Nested(pydantic.BaseModel):
    items: tuple[Cached, ...]


class Revealing(pydantic.BaseModel):
    password: SecretStr

    @pydantic.field_serializer("password")
    def reveal(self, value: SecretStr) -> str:
        return value.get_secret_value()


SECRET = Login(password=SecretStr("x"))


@pytest.mark.parametrize(
    ("model", "field", "remedy"),
    [
        (SECRET, "Login.password is a SecretStr", "get_secret_value"),
        (Site(logins={"a": [Login(), SECRET]}), "Login.password", "get_secret_value"),
        (Site(parent=Site(logins={"a": [SECRET]})), "Login.password", "get_secret_value"),
        (Keys([SecretBytes(b"x")]), "Keys.root is a SecretBytes", "get_secret_value"),
        (Cached(id=1, seen=[1]), "Cached.seen is declared with exclude", "separately"),
        (Nested(items=(Cached(id=1), Cached(id=2, seen=[2]))), "Cached.seen", "separately"),
    ],
)
def test_what_would_be_lost_is_refused_with_its_class_and_field(
    model: Any, field: str, remedy: str
) -> None:
    with pytest.raises(InvalidInputError, match=f"{field}.*{remedy}"):
        MemoryPool().enqueue("t", {"it": [model]}, partition_key="a")
    with pytest.raises(BadResultError, match=f"{field}.*{remedy}"):
        codec.encode_result(model)


@pytest.mark.parametrize(
    ("model", "plain"),
    [
        (Login(), {"user": "ada", "password": None}),
        (Login(user="*" * 10, password=SecretStr("")), {"user": "*" * 10, "password": ""}),
        (Site(parent=Site()), {"logins": {}, "parent": {"logins": {}, "parent": None}}),
        (Cached(id=1), {"id": 1}),
        (Revealing(password=SecretStr("x")), {"password": "x"}),
    ],
)
def test_what_arrives_whole_is_accepted(model: Any, plain: Any) -> None:
    assert codec.decode_result(codec.encode_result(model)) == plain
