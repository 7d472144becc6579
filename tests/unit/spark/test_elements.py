"""Objects that do not fit a Spark schema are refused: nothing is cut off, no null gets through."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rstream
from rstream.errors import CodecError
from rstream.spark._elements import batches_of

INT = pa.int32()
NEEDED = pa.field("a", INT, nullable=False)


@pytest.mark.parametrize(
    ("type_", "given"),
    [
        (INT, 1.5),
        (pa.list_(INT), [1, 2.5]),
        (pa.struct([("b", INT)]), {"b": -0.5}),
        (pa.map_(pa.string(), INT), {"b": 1.5}),
        (pa.list_(pa.struct([("b", pa.list_(INT))])), [{"b": [1.5]}]),
        (INT, np.float32(1.5)),
        (pa.list_(INT), np.array([1, 2.5])),
        (pa.struct([("b", pa.list_(INT))]), {"b": np.array([1.5], "f4")}),
    ],
    ids=str,
)
def test_a_fraction_is_no_integer(type_: Any, given: Any) -> None:
    with pytest.raises(CodecError, match=r"column a.*[0-9]\.5 is no int32"):
        batches_of([{"a": None}, {"a": given}], "msgpack", pa.schema([("a", type_)]))


def test_whole_numbers_fit() -> None:
    (batch,) = batches_of([{"a": 2.0}, [3], 4], "msgpack", pa.schema([("a", INT)]))
    assert batch.to_pydict() == {"a": [2, 3, 4]}
    type_ = pa.map_(pa.string(), pa.list_(INT))
    (batch,) = batches_of([{"a": {"b": [1]}}, {"a": None}], "msgpack", pa.schema([("a", type_)]))
    assert batch.to_pydict() == {"a": [[("b", [1])], None]}


def test_arrays_are_lists() -> None:
    schema = pa.schema(
        [("a", pa.list_(pa.list_(pa.float64()))), ("b", INT), ("c", pa.list_(pa.timestamp("us")))]
    )
    times = np.array(["2026-01-02", "NaT"], "M8[ns]")
    row = {"a": np.ones((1, 2), "f4"), "b": np.int8(3), "c": times}
    (batch,) = batches_of([row], "msgpack", schema)
    assert batch.to_pylist() == [
        {"a": [[1, 1]], "b": 3, "c": [datetime.datetime(2026, 1, 2), None]}
    ]
    with pytest.raises(CodecError, match="finer than microseconds"):
        batches_of([{"c": times + 1}], "msgpack", schema)


MOMENT = datetime.datetime(2026, 3, 1, 12, 30, 0, 250)


@pytest.mark.parametrize(
    ("type_", "given"),
    [
        (pa.timestamp("us"), MOMENT),
        (pa.timestamp("us", "UTC"), MOMENT.replace(tzinfo=datetime.UTC)),
        (pa.date32(), MOMENT.date()),
        (pa.time64("us"), MOMENT.time()),
        (pa.duration("us"), datetime.timedelta(days=-1, microseconds=3)),
        (pa.decimal128(10, 2), decimal.Decimal("-1.50")),
        (pa.list_(pa.date32()), [MOMENT.date(), None]),
        (pa.struct([("b", pa.int32()), ("c", pa.date32())]), {"b": 1, "c": MOMENT.date()}),
        (pa.map_(pa.date32(), pa.decimal128(4, 1)), [(MOMENT.date(), decimal.Decimal("2.5"))]),
        (pa.list_(pa.struct([("b", pa.list_(pa.date32()))])), [{"b": [MOMENT.date()]}, None]),
    ],
    ids=str,
)
def test_what_msgpack_has_as_text_comes_back(type_: Any, given: Any) -> None:
    """Through the codec of a publisher, as a reader without a type has it."""
    codec = rstream.codecs.msgpack()
    sent = dict(given) if pa.types.is_map(type_) else given
    schema = pa.schema([("a", type_), ("b", pa.string())])
    items = codec.decode_many([codec.encode({"a": one, "b": "x"}) for one in (sent, None, sent)])
    (batch,) = batches_of(items, "msgpack", schema)
    assert batch.column("a").to_pylist() == [given, None, given]


def test_a_decimal_of_a_number() -> None:
    (batch,) = batches_of([0.1, 3], "msgpack", pa.schema([("a", pa.decimal128(4, 2))]))
    assert batch.column("a").to_pylist() == [decimal.Decimal("0.10"), decimal.Decimal("3.00")]


@pytest.mark.parametrize(
    ("type_", "given", "text"),
    [
        (pa.timestamp("us"), 1.7e9, "column a: 1700000000.0 is not a datetime or its ISO 8601"),
        (pa.timestamp("us"), "noon", "column a: 'noon' is not a datetime or its ISO 8601 text"),
        (pa.date32(), 20000, "column a: 20000 is not a date or its ISO 8601 text"),
        (pa.decimal128(4, 2), "many", "column a: 'many' is not a number or its text"),
        (pa.decimal128(4, 2), 0.125, "column a: .*would cause data loss"),
        (INT, "1", "column a: .*str"),
    ],
    ids=str,
)
def test_what_cannot_be_converted_names_its_column(type_: Any, given: Any, text: str) -> None:
    with pytest.raises(CodecError, match=text):
        batches_of([{"a": given}], "msgpack", pa.schema([("a", type_)]))


@pytest.mark.parametrize(
    ("field", "bad", "good"),
    [
        (NEEDED, None, 1),
        (pa.field("a", pa.list_(pa.field("b", INT, nullable=False))), [None], None),
        (pa.field("a", pa.struct([pa.field("b", INT, nullable=False)])), {"b": None}, None),
        (pa.field("a", pa.map_("str", pa.field("b", INT, nullable=False))), {"x": None}, None),
    ],
    ids=str,
)
def test_a_null_where_there_may_be_none(field: Any, bad: Any, good: Any) -> None:
    schema = pa.schema([field, ("c", pa.string())])
    for row in ({"a": bad, "c": "x"}, *([{"c": "x"}] if field is NEEDED else [])):
        with pytest.raises(CodecError, match=r"column a.* may not be null"):
            batches_of([row], "msgpack", schema)
    (batch,) = batches_of([{"a": good, "c": "x"}], "msgpack", schema)
    assert batch.column("a").to_pylist() == [good]


def test_a_record_batch_with_a_null_too_many() -> None:
    schema = pa.schema([NEEDED])
    for has in (schema, pa.schema([("a", pa.int64())])):
        column = pa.array([1, None], has.field(0).type)
        batch = pa.RecordBatch.from_arrays([column], schema=has)
        with pytest.raises(CodecError, match="column a may not be null"):
            batches_of([batch], "arrow", schema)


@pytest.mark.parametrize(
    ("codec", "item"),
    [
        ("msgpack", {"a": "1"}),
        ("msgpack", {"a": 1.5}),
        ("msgpack", {"a": None}),
        ("msgpack", {"b": 1}),
        ("msgpack", [1, 2]),
        ("msgpack", np.array(["2026-01-02T00:00:00.000000001"], "M8[ns]")),
        ("arrow", pa.record_batch({"a": pa.array([2**40])})),
        ("arrow", pa.record_batch({"a": pa.array([None], INT)}, schema=pa.schema([NEEDED]))),
        ("arrow", pa.record_batch({"b": pa.array([1])})),
    ],
    ids=str,
)
def test_an_error_says_once_that_the_schema_does_not_fit(codec: str, item: Any) -> None:
    with pytest.raises(CodecError) as caught:
        batches_of([item], codec, pa.schema([NEEDED]))
    assert str(caught.value).startswith("it does not fit the schema: ")
    assert str(caught.value).count("fit the schema") == 1
