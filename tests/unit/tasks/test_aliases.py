"""A field's alias that is the name of another field does not swap values on the way."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest

from queuepool import Registry
from queuepool.testing import MemoryPool, run_jobs


class Item(pydantic.BaseModel):
    id: int = pydantic.Field(alias="external_id")
    external_id: int = pydantic.Field(alias="id")


class Taken(pydantic.BaseModel):
    id: int = pydantic.Field(
        validation_alias=pydantic.AliasChoices("external_id", pydantic.AliasPath("other", 0))
    )
    external_id: int = pydantic.Field(validation_alias="their_id")


class ByAlias(Item):
    model_config = pydantic.ConfigDict(serialize_by_alias=True)


class TakenByAlias(Taken):
    model_config = pydantic.ConfigDict(serialize_by_alias=True)  # it has none to be sent with


class Parcel(pydantic.BaseModel):
    number: int = pydantic.Field(alias="parcelNumber")
    first: ByAlias


class Order(pydantic.BaseModel):
    lines: list[Item]
    first: Item | None = None
    parent: Order | None = None


class Plain(pydantic.BaseModel):
    name: str = pydantic.Field(alias="fullName")


SENT = Item(external_id=1, id=2)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Item, SENT),
        (Taken, Taken.model_validate({"external_id": 1, "their_id": 2})),
        (ByAlias, ByAlias(external_id=1, id=2)),
        (TakenByAlias, TakenByAlias.model_validate({"external_id": 1, "their_id": 2})),
        (Parcel, Parcel(parcelNumber=3, first=ByAlias(external_id=1, id=2))),
        (list[Item], [SENT]),
        (dict[str, Item | None], {"a": SENT, "b": None}),
        (Order, Order(lines=[SENT], first=SENT, parent=Order(lines=[SENT]))),
    ],
)
def test_what_is_sent_arrives(kind: Any, value: Any) -> None:
    registry = Registry()
    seen: list[Any] = []

    def store(value: Any) -> Any:
        seen.append(value)
        return value

    store.__annotations__ = {"value": kind, "return": kind}
    registry.task(store)
    pool = MemoryPool(registry=registry)
    job = pool.enqueue("store", {"value": value}, partition_key="k")
    run_jobs(pool).raise_errors()

    assert seen == [value]
    assert job.result() in (value, pydantic.TypeAdapter(kind).dump_python(value, mode="json"))


@pytest.mark.parametrize("name", ["name", "fullName"])
def test_others_are_read_by_name_and_by_alias(name: str) -> None:
    registry = Registry()
    seen: list[Plain] = []

    @registry.task
    def store(value: Plain) -> None:
        seen.append(value)

    pool = MemoryPool(registry=registry)
    pool.enqueue("store", {"value": {name: "Ada"}}, partition_key="k")
    run_jobs(pool).raise_errors()

    assert seen == [Plain(fullName="Ada")]
