"""Single values in msgpack that msgspec does not know, and the classes that a publisher takes."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from collections import OrderedDict
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NewType, TypedDict

import msgspec
import pytest

from rstream import codecs
from rstream.errors import CodecError

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")


def sent(obj, writer=None, reader=None):
    data = (writer or codecs.msgpack()).encode(obj)
    message = b"".join(data) if isinstance(data, list) else data
    return (reader or codecs.msgpack()).decode_many([message])[0]


class Text(str):
    def __str__(self):
        return "another text"


class Number(int):
    pass


class Price(float):
    pass


class Blob(bytes):
    pass


class Amount(Decimal):
    pass


class Day(dt.date):
    pass


@pytest.mark.parametrize(
    ("obj", "arrives"),
    [
        (pd.Timestamp("2026-01-02T03:04:05.000006"), "2026-01-02T03:04:05.000006"),
        (pd.Timestamp("2026-01-02", tz="UTC"), dt.datetime(2026, 1, 2, tzinfo=dt.UTC)),
        (pd.Timestamp("2026-01-02", tz="Asia/Tokyo"), dt.datetime(2026, 1, 1, 15, tzinfo=dt.UTC)),
        (pd.Timedelta(90, "s"), "PT90S"),
        (pd.NaT, None),
        (pd.NA, None),
        (Text("a"), "a"),
        (np.str_("b"), "b"),
        (Number(3), 3),
        (Price(1.5), 1.5),
        (Blob(b"c"), b"c"),
        (Amount("1.10"), "1.10"),
        (Day(2026, 1, 2), "2026-01-02"),
        (pd.Index(["x"])[0], "x"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_value_of_a_subclass_is_written_as_its_base(obj, arrives):
    for wrap in (lambda x: x, lambda x: {"at": [x]}):
        back = sent(wrap(obj))
        assert back == wrap(arrives)
    assert type(sent(obj)) is type(arrives)
    if obj is not pd.NaT and obj is not pd.NA:
        assert sent({obj: 1}, None, codecs.msgpack(dict[Any, int])) == {arrives: 1}


def test_a_time_with_nanoseconds_is_refused():
    for obj in (pd.Timestamp(1), pd.Timedelta(1)):
        with pytest.raises(CodecError, match=r"at: .* no equal among Python's times"):
            codecs.msgpack().encode({"at": obj})


class Row(msgspec.Struct):
    at: pd.Timestamp
    took: pd.Timedelta | None = None
    name: Text = Text()


def test_a_field_of_a_subclass_is_brought_back():
    row = Row(pd.Timestamp("2026-01-02", tz="UTC"), pd.Timedelta("90s"), Text("a"))
    back = sent(row, None, codecs.msgpack(Row))
    assert (back.at, back.took, str.__str__(back.name)) == (row.at, row.took, "a")
    assert (type(back.at), type(back.took), type(back.name)) == (
        pd.Timestamp,
        pd.Timedelta,
        Text,
    )


# ---- what a publisher of a type takes ----


class Tick(msgspec.Struct):
    px: float = 0.0


class BigTick(Tick):
    size: int = 0


class Tock(msgspec.Struct):
    px: float = 0.0


@dataclasses.dataclass
class Point:
    x: int


class Pair(NamedTuple):
    a: int


class Named(TypedDict):
    a: int


class Side(enum.Enum):
    BUY = "buy"


Id = NewType("Id", int)


@pytest.mark.parametrize(
    ("type_", "takes", "refuses", "expected"),
    [
        (Tick, [Tick(1.0), BigTick(1.0, 2)], [{"px": 1.0}, Tock(1.0), None, [Tick()]], "Tick"),
        (Point, [Point(1)], [{"x": 1}, Tick()], "Point"),
        (Tick | None, [Tick(), None], [{}, 1], "Tick or None"),
        (float, [1.5, 1, np.float64(1), np.float32(1)], ["1", None, b""], "float"),
        (int, [1, np.int64(1), np.int8(1)], [1.5, "1", True], "int"),
        (str, ["a", Text("a"), np.str_("a")], [b"a", 1], "str"),
        (list[int], [[1], (1, 2)], [1, {"a": 1}], "list"),
        (dict, [{}, OrderedDict(a=1)], [[], Tick], "dict"),
        (Named, [{"a": 1}], [[1]], "dict"),
        (Pair, [Pair(1)], [[1], (1,)], "Pair"),
        (Side, [Side.BUY, "buy"], ["sell", 1], "Side"),
        (Literal["a", 1], ["a", 1], [b"a", 1.5], "int or str"),
        (Annotated[int, msgspec.Meta(ge=0)], [0], ["a"], "int"),
        (Id, [Id(1)], ["a"], "int"),
        (dt.datetime, [dt.datetime(2026, 1, 2), pd.Timestamp("2026-01-02")], [1, "a"], "datetime"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_an_object_of_another_class_is_an_error_at_the_publisher(type_, takes, refuses, expected):
    codec = codecs.msgpack(type_)
    for obj in takes + takes:
        sent(obj, codec, codec)
    for obj in refuses:
        with pytest.raises(CodecError, match=f"expected {expected}, got {type(obj).__name__}"):
            codec.encode(obj)


def test_any_object_goes_without_a_type():
    for codec in (codecs.msgpack(), codecs.msgpack(Any), codecs.msgpack(object)):
        assert codec.accepts is None
        assert sent(Tick(1.0), codec) == {"px": 1.0}
