"""Tables travel as Arrow; the reader's type says in which form they arrive."""

import re

import numpy as np
import pytest

from rstream import codecs
from rstream.codecs import _arrow_stream
from rstream.errors import CodecError, ConfigError

pa = pytest.importorskip("pyarrow")


def message_of(codec, rows):
    encoded = codec.encode(rows)
    return b"".join(map(bytes, encoded)) if isinstance(encoded, list) else bytes(encoded)


def sent(rows, type_=None, codec=None):
    (back,) = codecs.arrow(type_).decode_many([message_of(codec or codecs.arrow(), rows)])
    return back


def small():
    return pa.record_batch(
        {"a": pa.array([1, None, 3]), "d": pa.array(["x", "y", "x"]).dictionary_encode()}
    ).replace_schema_metadata({b"k": b"v"})


def large():
    return pa.record_batch(
        {"n": list(range(50_000)), "text": [f"row {n}" if n % 3 else None for n in range(50_000)]}
    )


@pytest.mark.parametrize("make", [small, large])
def test_a_record_batch_arrives_whole(make):
    batch = make()
    (back,) = codecs.codec_for(pa.RecordBatch).decode_many([message_of(codecs.arrow(), batch)])
    assert type(back) is pa.RecordBatch
    assert back.equals(batch, check_metadata=True)


@pytest.mark.parametrize("make", [small, large])
def test_a_table_of_several_chunks_arrives_as_it_was_sent_or_as_one_batch(make):
    batch = make()
    table = pa.Table.from_batches([batch, batch.slice(1)])
    back = sent(table, pa.Table)
    assert back.equals(table, check_metadata=True)
    assert back.column(0).num_chunks == 2
    one = sent(table)
    assert type(one) is pa.RecordBatch
    assert pa.Table.from_batches([one]).equals(table)


def test_a_table_without_rows_arrives_with_its_columns():
    empty = pa.schema([("a", pa.int64()), ("b", pa.string())]).empty_table()
    assert sent(empty, pa.Table).equals(empty)
    assert sent(empty).schema.equals(empty.schema)
    assert sent(empty).num_rows == 0


def test_a_slice_is_sent_as_its_rows_alone():
    batch = large()
    for rows in (batch.slice(10, 3), pa.Table.from_batches([batch]).slice(10, 3)):
        message = message_of(codecs.arrow(), rows)
        assert len(message) < 1000
        assert codecs.arrow().decode_many([message])[0].to_pydict() == rows.to_pydict()


def test_large_columns_are_not_copied_to_be_sent():
    batch = large()
    pieces = codecs.arrow().encode(batch)
    column = batch.column(0).buffers()[1]
    assert any(pa.py_buffer(piece).address == column.address for piece in pieces)
    assert batch.nbytes >= _arrow_stream.GATHERED_MIN > small().nbytes


def test_columns_point_into_the_message():
    message = message_of(codecs.arrow(), large())
    (back,) = codecs.arrow().decode_many([message])
    begin = pa.py_buffer(message).address
    assert begin <= back.column(0).buffers()[1].address < begin + len(message)


def test_pandas_frames_with_their_index():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"px": [1.0, None], "at": pd.to_datetime(["2026-01-02", "2026-01-03"])},
        index=pd.Index(["a", "b"], name="symbol"),
    )
    back = sent(frame, pd.DataFrame, codecs.codec_for(pd.DataFrame))
    pd.testing.assert_frame_equal(back, frame)
    assert sent(frame, pa.Table).column_names == ["px", "at", "symbol"]
    exact = small().to_pandas().astype({"a": "Int64"})
    pd.testing.assert_frame_equal(sent(small(), pd.DataFrame), exact)


def test_a_pandas_column_of_objects_is_refused_with_what_to_do():
    pd = pytest.importorskip("pandas")
    with pytest.raises(CodecError, match=r"DataFrame cannot be written as Arrow.*astype"):
        codecs.arrow().encode(pd.DataFrame({"mixed": [1, "x", object()]}))


def test_columns_of_one_name_are_refused_with_what_to_do():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([[1, 2, 3]], columns=["px", "n", "px"])
    with pytest.raises(CodecError, match=r"Duplicate column.*'px' is there twice") as caught:
        codecs.arrow().encode(frame)
    assert "astype" not in str(caught.value)


def test_polars_frames():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"px": [1.0, None], "symbol": ["a", "b"], "tags": [["x"], []]})
    back = sent(frame, pl.DataFrame, codecs.codec_for(pl.DataFrame))
    assert back.equals(frame)
    assert sent(frame, pa.Table).to_pydict() == frame.to_dict(as_series=False)
    assert sent(small(), pl.DataFrame)["a"].to_list() == [1, None, 3]
    pd = pytest.importorskip("pandas")
    assert sent(frame, pd.DataFrame)["symbol"].tolist() == ["a", "b"]


def test_what_is_no_table_is_refused_with_what_to_send():
    for obj in ({"a": [1]}, pa.array([1]), b"bytes"):
        with pytest.raises(CodecError, match=r"sends pyarrow\.RecordBatch.*pyarrow\.table\(dict\)"):
            codecs.arrow().encode(obj)
    pd = pytest.importorskip("pandas")
    with pytest.raises(CodecError, match=r"not pandas\.Series; make one of them: Series\.to_frame"):
        codecs.arrow().encode(pd.Series([1]))
    with pytest.raises(ConfigError, match=r"type pandas\.Series: no codec carries it"):
        codecs.codec_for(pd.Series)
    with pytest.raises(ConfigError, match=r"arrow codec: type=Series; give pyarrow\.RecordBatch"):
        codecs.arrow(pd.Series)


def test_another_schema_is_an_error_that_shows_both_sides():
    schema = pa.schema([("px", pa.float64())])
    rows = pa.table({"px": [1], "symbol": ["a"]})
    with pytest.raises(
        CodecError,
        match=r"sends rows of \{px: int64, symbol: string\}, this reader expects \{px: double\}",
    ):
        codecs.arrow(schema=schema).decode_many([message_of(codecs.arrow(), rows)])
    with pytest.raises(CodecError, match=r"\{px: double\} cannot send \{px: int64, symbol"):
        codecs.arrow(schema=schema).encode(rows)
    with pytest.raises(ConfigError, match=r"is no pyarrow\.Schema; such as"):
        codecs.arrow(schema={"px": float})
    good = pa.table({"px": [1.0]})
    assert codecs.arrow(pa.Table, schema=schema).decode_many(
        [message_of(codecs.arrow(schema=schema), good)]
    ) == [good]


def test_junk_is_a_codec_error():
    whole = message_of(codecs.arrow(), small())
    for junk in (b"", b"junk", whole[: len(whole) // 2]):
        with pytest.raises(CodecError):
            codecs.arrow().decode_many([junk])


@pytest.mark.parametrize(("type_", "codec"), [(bytes, "arrow"), (int, "numpy"), (int, "raw")])
def test_a_codec_and_a_type_that_do_not_fit_are_refused(type_, codec):
    with pytest.raises(ConfigError, match=rf"codec='{codec}' does not carry type={type_.__name__}"):
        codecs.choose(type_, codec)


# ---- exact numbers in frames ----

BIG = 2**60 + 1


def as_frame(table, **options):
    pandas = pytest.importorskip("pandas")
    encoded = codecs.arrow().encode(table)
    data = b"".join(map(bytes, encoded)) if isinstance(encoded, list) else bytes(encoded)
    (frame,) = codecs.arrow(pandas.DataFrame, **options).decode_many([data])
    return frame


@pytest.mark.parametrize(
    ("type_", "dtype"),
    [("int64", "Int64"), ("uint64", "UInt64"), ("int8", "Int8"), ("uint16", "UInt16")],
)
def test_integers_with_nulls_are_exact_in_a_frame_of_pandas(type_, dtype):
    pa = pytest.importorskip("pyarrow")
    most = 2 ** (int(type_.lstrip("uint")) - (type_[0] != "u")) - 1
    column = pa.array([most, None], type_)
    frame = as_frame(pa.table({"t": ["x", "y"], "id": column, "n": pa.array([1, 2], type_)}))
    assert [str(kind) for kind in frame.dtypes[1:]] == [dtype, type_]
    assert frame["id"][0] == most
    assert frame["id"].isna().tolist() == [False, True]


def test_integers_inside_of_other_columns_are_exact_in_a_frame_of_pandas():
    pa = pytest.importorskip("pyarrow")
    columns = {
        "list": pa.array([[BIG, None]]),
        "lists": pa.array([[[BIG, None]]]),
        "dict": pa.array([{"a": BIG}, {"a": None}]).slice(0, 1),
        "word": pa.array([BIG]).dictionary_encode(),
        "map": pa.array([[("a", BIG), ("b", None)]], pa.map_(pa.string(), pa.int64())),
    }
    (row,) = as_frame(pa.table(columns)).to_dict("records")
    assert row["list"].tolist() == [BIG, None]
    assert row["lists"][0].tolist() == [BIG, None]
    assert row["dict"] == {"a": BIG}
    assert row["word"] == BIG
    assert row["map"] == [("a", BIG), ("b", None)]


def test_a_frame_with_an_index_and_missing_integers_comes_back_as_it_was():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"id": pandas.array([BIG, None], "Int64"), "x": [1.5, None]}, index=["a", "b"]
    )
    frame[7] = [1, 2]
    frame.columns = ["id", "x", "7"]
    pandas.testing.assert_frame_equal(as_frame(frame), frame)


def test_objects_in_a_frame_of_polars_are_refused():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"n": [1], "o": polars.Series([object()], dtype=polars.Object)})
    text = "^column 'o' of the DataFrame holds Python objects"
    with pytest.raises(CodecError, match=text) as caught:
        codecs.arrow().encode(frame)
    assert "give its columns" not in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"big": [1, 2**70]}, "column 'big', object: Python int too large"),
        ({"m": [1, "x"]}, r"column 'm', object: Could not convert 'x'[^)]*; give it one type"),
        ({"z": np.ones(2, "c16")}, "column 'z', complex128: Unsupported numpy type"),
        ({"s": ["\ud800", ""]}, "column 's', object: 'utf-8' codec can't encode"),
    ],
)
def test_a_refusal_names_the_column_of_a_frame_of_pandas(columns, text):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": [1, 2]} | columns, index=["a", "b"]).astype({"n": "int8"})
    with pytest.raises(CodecError, match=text) as caught:
        codecs.arrow().encode(frame)
    assert str(caught.value).count("column") == 1


def test_a_refusal_names_the_index_of_a_frame_of_pandas():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(CodecError, match="as Arrow: its index: Python int too large"):
        codecs.arrow().encode(pandas.DataFrame({"n": [1]}, index=[2**70]))


@pytest.mark.parametrize("name", ["Int128", "List(Int128)", "Struct({'x': Int128})"])
def test_a_refusal_names_the_column_of_a_frame_of_polars(name):
    polars = pytest.importorskip("polars")
    dtypes = {
        "Int128": polars.Int128,
        "List(Int128)": polars.List(polars.Int128),
        "Struct({'x': Int128})": polars.Struct({"x": polars.Int128}),
    }
    frame = polars.DataFrame({"n": [1], "big": polars.Series([None], dtype=dtypes[name])})
    for send in (codecs.arrow().encode, lambda frame: codecs.msgpack().encode({"t": frame})):
        with pytest.raises(CodecError, match=rf"column 'big', {re.escape(name)}: .*; give it one"):
            send(frame)
