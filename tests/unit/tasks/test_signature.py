"""Arguments by annotation: what the enqueue refuses, and what a handler is given."""

import functools
import json
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuepool import BadPayloadError, InvalidInputError, JobContext, JobTimeoutError, Registry
from queuepool.errors import UndecodableError
from queuepool.protocol.codec import NO_OPTIONS, decode_envelope, encode_envelope, encode_tail
from queuepool.tasks.signature import Signature

UUID = uuid.UUID("7e1f2a3b-0000-4000-8000-000000000001")


class Colour(Enum):
    RED = "red"


class Size(IntEnum):
    BIG = 3


@dataclass
class Line:
    article: uuid.UUID
    price: Decimal
    count: int = 1


@dataclass
class Share:
    """A type whose own code raises something other than ValueError."""

    parts: int
    each: float = 0.0

    def __post_init__(self) -> None:
        if self.parts < 0:
            raise JobTimeoutError("just now")
        self.each = 1 / self.parts


class Address(TypedDict):
    city: str


class Point(NamedTuple):
    x: int
    y: int


class Order(msgspec.Struct):
    lines: list[Line]
    due: datetime | None = None


class Customer(pydantic.BaseModel):
    id: int
    name: str = pydantic.Field(alias="fullName")
    since: datetime | None = None

    @pydantic.computed_field  # type: ignore[prop-decorator]  # as pydantic's own docs say
    @property
    def label(self) -> str:
        return f"{self.id}"


@pydantic.dataclasses.dataclass
class Tag:
    text: Annotated[str, pydantic.Field(min_length=2)]


@dataclass
class Visit:
    who: Customer


NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ADA = Customer(id=1, fullName="Ada", since=NOW)


def sent(signature: Signature, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a handler is given of what an enqueue accepted."""
    envelope = encode_envelope("t", payload, NO_OPTIONS, limit=10**6)
    signature.check(payload, envelope)
    return received(signature, envelope)


def received(signature: Signature, envelope: bytes) -> dict[str, Any]:
    body = b"1" + b"2" + b"0" * 11 + encode_tail(1, b"g") + envelope
    arguments = decode_envelope(body).payload
    return arguments if signature.convert is None else signature.convert(arguments)


def annotated(annotation: Any, **options: Any) -> Signature:
    def handler(value: Any, **others: Any) -> None: ...

    def plain(value: Any) -> None: ...

    handler.__annotations__ = plain.__annotations__ = {"value": annotation, **options}
    return Signature("t", handler if "others" in options else plain, None)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, 7), (float, 1.5), (str, "a"), (bool, True), (datetime, NOW),
        (date, date(2026, 1, 2)), (time, time(3, 4)), (timedelta, timedelta(minutes=5)),
        (uuid.UUID, UUID), (Decimal, Decimal("1.10")), (Colour, Colour.RED), (Size, Size.BIG),
        (Literal["a", "b"], "b"), (bytes, b"\x00\xff"), (Line, Line(UUID, Decimal("9.90"), 2)),
        (Address, {"city": "Bern"}), (Point, Point(1, 2)),
        (Order, Order([Line(UUID, Decimal(1))], NOW)), (Customer, ADA), (Tag, Tag("xy")),
        (Visit, Visit(ADA)), (list[Customer], [ADA]), (dict[str, Customer], {"a": ADA}),
        (Customer | None, None), (Customer | Tag, Tag("xy")), (list[datetime], [NOW]),
        (dict[str, Decimal], {"a": Decimal("0.1")}), (dict[int, int], {1: 2}),
        (set[int], {1, 2}), (tuple[int, str], (1, "a")), (int | None, None),
        (Sequence[int], [1]), (Mapping[str, int], {"a": 1}),
        (Annotated[int, "a note"], 7), (int | str, "7"), (Any, {"a": [1]}), (object, "x"),
    ],
    ids=str,
)  # fmt: skip
def test_a_handler_is_given_what_was_enqueued(annotation: Any, value: Any) -> None:
    assert sent(annotated(annotation), {"value": value}) == {"value": value}


@pytest.mark.parametrize(
    ("annotation", "value", "given_"),
    [
        (int, "7", 7), (float, "1.5", 1.5), (float, 2, 2.0), (bool, "true", True),
        (Decimal, "1.10", Decimal("1.10")), (datetime, "2026-01-02T03:04:05Z", NOW),
        (uuid.UUID, str(UUID), UUID), (Size, "3", Size.BIG), (Colour, "red", Colour.RED),
        (int | None, "7", 7), (str, 7, "7"), (str, 1.5, "1.5"), (str | None, 7, "7"),
        (str | None, "null", "null"), (str, UUID, str(UUID)), (list[int], ["1", 2], [1, 2]),
        (Address, {"city": "Bern", "zip": 1}, {"city": "Bern"}), (Customer, {"id": "1", "fullName":
        "Ada"}, Customer(id=1, fullName="Ada")), (timedelta, 5, timedelta(seconds=5)),
    ],
    ids=str,
)  # fmt: skip
def test_texts_and_numbers_become_what_the_annotation_says(
    annotation: Any, value: Any, given_: Any
) -> None:
    assert sent(annotated(annotation), {"value": value}) == {"value": given_}


@pytest.mark.parametrize(
    ("annotation", "value", "words"),
    [
        (int, "seven", "must be int and is 'seven'"), (int, 7.5, "got `float`"),
        (int, None, "must be int and is None"), (int, True, "got `bool`"),
        (str, [1], "must be str"),
        (str, True, "must be str and is True"), (bool, "yes", "must be bool"),
        (datetime, "tomorrow", "must be datetime and is 'tomorrow'"), (Colour, "blue", "blue"),
        (Line, {"article": "x", "price": "1"}, "article"), (Literal["a"], "b", "'b'"),
        (list[int], [1, "x"], "`$[1]`"), (Customer, {"id": "x", "fullName": "A"}, "id: Input"),
        (Tag, {"text": "a"}, "at least 2"), (Customer | Tag, 5, "must be"),
        (dict[int, int], {"a": 1}, "must be"), (int, "9" * 5000, "must be int"),
        (Share, {"parts": 0}, "ZeroDivisionError: "),
        (list[Share], [{"parts": 0}], "ZeroDivisionError: "),
        (Customer | Share, {"parts": 0}, "ZeroDivisionError: "),
    ],
    ids=lambda v: str(v)[:30],
)  # fmt: skip
def test_what_cannot_be_converted_names_the_argument_at_both_ends(
    annotation: Any, value: Any, words: str
) -> None:
    signature = annotated(annotation)
    envelope = encode_envelope("t", {"value": value}, NO_OPTIONS, limit=10**6)

    with pytest.raises(InvalidInputError) as at_enqueue:
        signature.check({"value": value}, envelope)
    with pytest.raises(BadPayloadError) as at_consumer:
        received(signature, envelope)

    assert "task 't': argument 'value'" in str(at_enqueue.value)
    assert words in str(at_enqueue.value)
    assert "Nothing was enqueued" in str(at_enqueue.value)
    assert len(str(at_enqueue.value)) < 1000
    assert at_consumer.value.argument == "value"
    assert words in str(at_consumer.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=5)
    | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(["7", "1.5", "true"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)  # fmt: skip
KINDS = (
    int, float, str, bool, int | None, str | None, list[int], dict[str, int], dict[int, float],
    Decimal, datetime, Colour, Line, Order, Customer, Visit, tuple[int, str], set[str], int | str,
)  # fmt: skip
SIGNATURES = {kind: annotated(kind) for kind in KINDS}


@given(kind=st.sampled_from(KINDS), value=JSON)
def test_the_consumer_takes_exactly_what_the_enqueue_takes(kind: Any, value: Any) -> None:
    signature = SIGNATURES[kind]
    envelope = encode_envelope("t", {"value": value}, NO_OPTIONS, limit=10**6)

    outcomes = []
    for attempt in (
        lambda: signature.check({"value": value}, envelope),
        lambda: received(signature, envelope),
    ):
        try:
            attempt()
            outcomes.append("taken")
        except (InvalidInputError, BadPayloadError):
            outcomes.append("refused")

    assert outcomes[0] == outcomes[1]


def handler(ctx: JobContext, a: int, b: str = "x", *, c: float | None = None) -> None: ...


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({}, "task 't' misses 'a' (its arguments: 'a', 'b', 'c')"),
        ({"a": 1, "d": 2}, "task 't' has no 'd'"),
        ({"b": "x", "d": 2}, "misses 'a' and has no 'd'"),
        ({"a": 1, "ctx": 5}, "has no 'ctx'"),
        ({"a": 1, 2: 3}, "has no 2"),
    ],
)
def test_missing_and_unknown_arguments_are_named(payload: dict[Any, Any], words: str) -> None:
    signature = Signature("t", handler, None)

    with pytest.raises(InvalidInputError) as caught:
        sent(signature, payload)

    assert words in str(caught.value)


def test_defaults_stay_with_the_handler() -> None:
    assert sent(Signature("t", handler, None), {"a": "1"}) == {"a": 1}


def test_a_default_of_none_allows_none() -> None:
    def loose(a: int = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013 - people write this

    assert sent(Signature("t", loose, None), {"a": None}) == {"a": None}


def test_a_consumer_leaves_arguments_too_many_or_too_few_to_the_call() -> None:
    signature = Signature("t", handler, None)
    envelope = encode_envelope("t", {"b": 1, "new": [1]}, NO_OPTIONS, limit=1000)

    assert received(signature, envelope) == {"b": "1", "new": [1]}


def test_fields_that_a_newer_producer_adds_inside_an_argument_are_ignored() -> None:
    def older(share: Share, at: Address) -> None: ...

    signature = Signature("t", older, None)
    payload = {"share": {"parts": 2, "new": 1}, "at": {"city": "Bern", "new": [1]}}
    envelope = encode_envelope("t", payload, NO_OPTIONS, limit=1000)

    for given_ in (received(signature, envelope), sent(signature, payload)):
        assert given_ == {"share": Share(2), "at": {"city": "Bern"}}


def test_other_keywords_are_taken_and_converted_by_their_annotation() -> None:
    def open_(a: int, *args: str, **others: Decimal) -> None: ...

    def loose(**payload: object) -> None: ...

    given_ = sent(Signature("t", open_, None), {"a": "1", "x": "2.5"})
    assert given_ == {"a": 1, "x": Decimal("2.5")}
    with pytest.raises(InvalidInputError, match="argument 'x'"):
        sent(Signature("t", open_, None), {"a": 1, "x": "many"})
    assert sent(Signature("t", loose, None), {"any": [1]}) == {"any": [1]}


def test_a_mix_of_models_and_plain_types_is_converted() -> None:
    def mixed(n: int, who: Customer, raw: Any = None) -> None: ...

    given_ = sent(Signature("t", mixed, None), {"n": "1", "who": ADA, "raw": 5})
    assert given_ == {"n": 1, "who": ADA, "raw": 5}


def test_partials_methods_and_objects_have_signatures_too() -> None:
    def scale(by: int, n: int, *, times: int = 1) -> None: ...

    class Worker:
        def __call__(self, n: int) -> None: ...

        def run(self, n: int) -> None: ...

    for function in (functools.partial(scale, 2), Worker(), Worker().run):
        assert sent(Signature("t", function, None), {"n": "7"}) == {"n": 7}
    bound = Signature("t", functools.partial(scale, by=2), None)
    assert bound.bind((), {"n": 1}) == {"n": 1}


def test_annotations_as_text_are_resolved_when_they_are_needed() -> None:
    space: dict[str, Any] = {}
    source = (
        "from __future__ import annotations\n"
        "from queuepool import JobContext as Ctx\n"
        "import queuepool\n"
        "def later(ctx: queuepool.JobContext | None, a: Later, b: 'int' = 1) -> list[Later]: ...\n"
    )
    exec(compile(source, "later.py", "exec"), space)
    signature = Signature("t", space["later"], None)
    exec("from decimal import Decimal as Later", space)

    assert signature.context == "ctx"
    assert sent(signature, {"a": "1.5", "b": "2"}) == {"a": Decimal("1.5"), "b": 2}
    assert signature.read_result(["1.5"]) == [Decimal("1.5")]


def test_an_annotation_that_cannot_be_used_is_said_once_and_left_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def odd(
        a: "Nowhere",  # type: ignore[name-defined]  # noqa: F821
        b: Path, c: Callable[[], int], n: int,
    ) -> None: ...  # fmt: skip

    signature = Signature("t", odd, None)
    with caplog.at_level(logging.WARNING, "queuepool"):
        for _ in range(2):
            given_ = sent(signature, {"a": "x", "b": "/tmp", "c": 1, "n": "2"})

    assert given_ == {"a": "x", "b": "/tmp", "c": 1, "n": 2}
    said = [r.getMessage() for r in caplog.records]
    assert [s.split("argument ")[1][:3] for s in said] == ["'a'", "'b'", "'c'"]
    assert "Nowhere" in said[0]


def test_an_annotation_that_breaks_whoever_looks_at_it_is_left_alone() -> None:
    class Broken(pydantic.BaseModel):
        later: "Never_Defined"  # type: ignore[name-defined]  # noqa: F821

    for odd in (Broken, Literal[[]], Annotated[int, []], "1 +", "print(", int | list[Broken]):
        signature = annotated(odd, **{"return": odd})
        assert sent(signature, {"value": 5}) == {"value": 5}
        assert signature.read_result(5) == 5


def test_arguments_nested_too_deep_are_refused() -> None:
    signature = annotated(list[Any])
    envelope = b'["t",{"value":' + b"[" * 200_000 + b"]" * 200_000 + b"}]"

    with pytest.raises(InvalidInputError, match="nested too deep"):
        signature.check({"value": []}, envelope)


def test_a_task_without_conversions_costs_its_consumer_nothing() -> None:
    def plain(a: Any, b: object, c, ctx) -> None: ...  # type: ignore[no-untyped-def]

    signature = Signature("t", plain, None)
    signature.prepare()

    assert signature.convert is None
    assert signature.context == "ctx"


def test_results_are_what_the_function_is_annotated_to_return() -> None:
    def price() -> Decimal: ...  # type: ignore[empty-body]

    async def customer() -> Customer | None: ...

    def nothing() -> None: ...

    assert Signature("t", price, None).read_result("1.10") == Decimal("1.10")
    stored = json.loads(ADA.model_dump_json())
    with pytest.raises(Exception, match=r"does not match its return annotation"):
        Signature("t", price, None).read_result({"a": 1})
    assert (
        Signature("t", customer, None).read_result(
            {"id": 1, "name": "Ada", "since": stored["since"]}
        )
        == ADA
    )
    assert Signature("t", customer, None).read_result(None) is None
    assert Signature("t", nothing, None).read_result("something") == "something"


def test_a_result_whose_type_raises_does_not_match() -> None:
    def share() -> Share: ...  # type: ignore[empty-body]

    with pytest.raises(UndecodableError, match="annotation: ZeroDivisionError: "):
        Signature("t", share, None).read_result({"parts": 0})
    with pytest.raises(JobTimeoutError, match="just now"):
        Signature("t", share, None).read_result({"parts": -1})


@pytest.mark.parametrize("annotation", [Share, Customer | Share])
def test_the_timeout_of_a_handler_is_no_mismatch(annotation: Any) -> None:
    signature = annotated(annotation)
    payload = {"value": {"parts": -1}}
    envelope = encode_envelope("t", payload, NO_OPTIONS, limit=10**6)

    with pytest.raises(JobTimeoutError, match="just now"):
        signature.check(payload, envelope)
    with pytest.raises(JobTimeoutError, match="just now"):
        received(signature, envelope)


@pytest.mark.parametrize("make", [lambda a, /: a, lambda a, /, b: (a, b)])
def test_positional_only_parameters_are_refused_at_the_registration(make: Any) -> None:
    with pytest.raises(InvalidInputError, match="positional-only"):
        Registry().task(name="t")(make)


def test_a_function_without_a_signature_is_refused_at_the_registration() -> None:
    with pytest.raises(InvalidInputError, match="no readable signature"):
        Registry().task(name="t")(max)


def test_a_second_context_is_refused_unless_it_can_be_left_out() -> None:
    def handler(ctx: JobContext, again: JobContext) -> None: ...

    def inner(ctx: JobContext, outer: JobContext | None = None) -> None: ...

    with pytest.raises(InvalidInputError, match="nothing can fill 'again'"):
        Registry().task(handler)
    assert Registry().task(inner).name == "inner"


def test_a_method_is_refused_in_its_class_and_taken_from_an_object() -> None:
    class Mailer:
        def send(self, to: str) -> None: ...

    with pytest.raises(InvalidInputError, match="a job has no object for its `self`"):
        Registry().task(Mailer.send)
    assert Registry().task(Mailer().send).name == "send"
