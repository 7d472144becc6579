"""Models of pydantic: written by ``model_dump``, and validated where a type asks for one."""

from __future__ import annotations

import enum
from datetime import date
from typing import Annotated, Any
from uuid import UUID

import msgspec
import numpy as np
import pytest

import rstream
from rstream import codecs
from rstream.errors import CodecError

pydantic = pytest.importorskip("pydantic")


def sent(obj, writer=None, reader=None):
    data = (writer or codecs.msgpack()).encode(obj)
    message = b"".join(data) if isinstance(data, list) else data
    return (reader or codecs.msgpack()).decode_many([message])[0]


class Side(enum.Enum):
    BUY = "buy"


class Leg(pydantic.BaseModel):
    symbol: str
    size: Annotated[int, pydantic.Field(gt=0)] = 1


class Order(pydantic.BaseModel, arbitrary_types_allowed=True):
    number: UUID
    day: date
    side: Side
    legs: list[Leg]
    weights: np.ndarray
    price: float = pydantic.Field(default=0.0, alias="px")
    tags: set[str] = pydantic.Field(default_factory=set)


ORDER = Order(
    number=UUID(int=5), day=date(2026, 1, 2), side=Side.BUY, legs=[Leg(symbol="A", size=2)],
    weights=np.arange(3.0), px=1.5, tags={"a"},
)  # fmt: skip


def test_a_model_arrives_as_a_dict_or_as_a_model():
    back = sent(ORDER)
    assert back.pop("weights").tolist() == [0, 1, 2]
    assert back == {
        "number": str(UUID(int=5)), "day": "2026-01-02", "side": "buy", "price": 1.5,
        "legs": [{"symbol": "A", "size": 2}], "tags": ["a"],
    }  # fmt: skip
    for obj, type_ in ((ORDER, Order), ([ORDER], list[Order])):
        back = sent(obj, codecs.msgpack(type_), codecs.msgpack(type_))
        back = back[0] if isinstance(back, list) else back
        assert type(back) is Order
        assert back.weights.tolist() == [0, 1, 2]
        assert back.model_dump(exclude={"weights"}) == ORDER.model_dump(exclude={"weights"})


class Strict(pydantic.BaseModel, extra="forbid"):
    price: float
    settings: pydantic.Json[dict[str, int]] = pydantic.Field(default_factory=dict)
    secret: str = pydantic.Field(default="", exclude=True)

    @pydantic.computed_field
    @property
    def twice(self) -> float:
        return 2 * self.price


class Open(Strict, extra="allow"):
    parts: list[Strict] = pydantic.Field(default_factory=list)


def test_computed_fields_are_computed_again_and_excluded_ones_stay():
    strict = Strict(price=1.5, settings='{"a": 1}', secret="x")
    back = sent(strict, None, codecs.msgpack(Strict))
    assert (back.twice, back.settings, back.secret) == (3, {"a": 1}, "")
    back = sent(Open(price=2, parts=[strict]), None, codecs.msgpack(Open))
    assert (back.twice, back.parts[0].twice, back.model_extra) == (4, 3, {})
    assert sent(strict) == {"price": 1.5, "settings": '{"a":1}'}


class Envelope(msgspec.Struct):
    leg: Leg
    more: Any = None


def test_models_inside_other_objects():
    back = sent(Envelope(Leg(symbol="A"), [Leg(symbol="B")]), None, codecs.msgpack(Envelope))
    assert back == Envelope(Leg(symbol="A"), [{"symbol": "B", "size": 1}])


def test_what_the_model_refuses_is_a_codec_error_that_says_why():
    with pytest.raises(CodecError, match="greater than 0"):
        sent({"symbol": "A", "size": 0}, None, codecs.msgpack(Leg))
    with pytest.raises(CodecError, match="expected Leg, got dict"):
        codecs.msgpack(Leg).encode({"symbol": "A"})


def test_a_refusal_names_the_field_of_a_model():
    class Model(pydantic.BaseModel):
        part: Any

    with pytest.raises(CodecError, match=r"part\[0\]: Encoding objects of type object"):
        codecs.msgpack().encode(Model(part=[object()]))


def test_a_stream_of_models(module_driver_dir, name):
    with (
        rstream.subscriber(name, Order, dir=module_driver_dir) as sub,
        rstream.publisher(name, Order, dir=module_driver_dir, linger_s=0) as pub,
    ):
        for _ in range(3):
            pub.send(ORDER)
            assert sub.get(timeout_s=10).legs == ORDER.legs
