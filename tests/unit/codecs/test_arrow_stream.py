"""Each message is Arrow's own stream, whatever the two ends remember of schemas.

The oracle is pyarrow: its writer for the bytes, its reader for what they say.
"""

import itertools
import random

import pytest

from rstream import codecs
from rstream.codecs import _arrow_stream
from rstream.errors import CodecError

pa = pytest.importorskip("pyarrow")


def joined(encoded):
    return b"".join(map(bytes, encoded)) if isinstance(encoded, list) else bytes(encoded)


def arrows_own(rows):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write(rows)
    return sink.getvalue().to_pybytes()


def plain():
    return pa.record_batch({"n": [1, None, 3], "text": ["x", "yy", None], "tags": [[1], [], None]})


def numbers(count=3, start=0):
    return pa.record_batch({"n": range(start, start + count)})


def words():
    return pa.array(["x", "y", "x"]).dictionary_encode()


ROWS = {
    "batch": plain(),
    "batch with metadata": plain().replace_schema_metadata({b"key": b"value"}),
    "slice": plain().slice(1, 1),
    "slice of a large batch": numbers(100_000).slice(70_000, 3),
    "batch without rows": plain().slice(0, 0),
    "batch without columns": pa.RecordBatch.from_pylist([{}, {}], schema=pa.schema([])),
    "table": pa.Table.from_batches([plain(), plain().slice(1)]),
    "table without batches": plain().schema.empty_table(),
    "several parts": numbers(_arrow_stream.JOINED_MAX),
    "gathered": numbers(_arrow_stream.GATHERED_MIN),
    "dictionary": pa.record_batch({"word": words(), "n": [1, 2, 3]}),
    "table of dictionaries": pa.Table.from_batches([pa.record_batch({"word": words()})] * 2),
    "dictionary in a struct": pa.record_batch({"s": pa.StructArray.from_arrays([words()], ["w"])}),
    "dictionary in a list": pa.record_batch({"l": pa.ListArray.from_arrays([0, 2, 3], words())}),
    "dictionary without rows": pa.record_batch({"word": words()}).slice(0, 0),
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_the_encoded_length_is_that_of_the_batches_in_a_message(rows):
    batches = [rows] if isinstance(rows, pa.RecordBatch) else rows.to_batches()
    expected = sum(len(batch.serialize()) for batch in batches)
    assert _arrow_stream.encoded_length(rows) == expected


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_each_message_has_the_bytes_of_arrows_own_writer(rows):
    codec = codecs.arrow()
    for _ in range(3):
        assert joined(codec.encode(rows)) == arrows_own(rows)


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("form", [bytes, memoryview])
def test_each_message_is_read_as_it_was_sent(rows, form):
    codec = codecs.arrow(pa.Table)
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
    for back in codec.decode_many([form(arrows_own(rows))] * 4):
        assert back.equals(table, check_metadata=True)


@pytest.mark.parametrize(
    "kind",
    [
        pa.sparse_union([pa.field("a", pa.int8())]),
        pa.dense_union([pa.field("a", pa.int8())]),
        pa.dictionary(pa.int8(), pa.list_(pa.int8())),
        pa.list_(pa.dictionary(pa.int8(), pa.null())),
        pa.run_end_encoded(pa.int32(), pa.dictionary(pa.int8(), pa.string())),
    ],
    ids=str,
)
def test_a_batch_without_rows_may_have_columns_of_any_type(kind):
    rows = pa.RecordBatch.from_arrays([pa.nulls(0, kind)], ["x"])
    no_batch = pa.Table.from_batches([], rows.schema)
    for sent in (rows, no_batch):
        back = codecs.arrow(pa.RecordBatch).decode_many([arrows_own(sent)] * 3)
        assert [(one.schema, one.num_rows) for one in back] == [(rows.schema, 0)] * 3


def test_a_reader_that_comes_late_reads_the_next_message():
    codec = codecs.arrow()
    messages = [joined(codec.encode(numbers(start=start))) for start in range(10)]
    assert codecs.arrow().decode_many(messages[9:]) == [numbers(start=9)]


def test_a_publisher_may_change_its_schema_at_each_message():
    shapes = [
        numbers(),
        plain(),
        numbers().replace_schema_metadata({"origin": "a"}),
        numbers().replace_schema_metadata({"origin": "b"}),
        ROWS["dictionary"],
    ]
    rng = random.Random(5)
    sent = [rng.choice(shapes) for _ in range(200)]
    writer, reader = codecs.arrow(), codecs.arrow()
    got = reader.decode_many([joined(writer.encode(rows)) for rows in sent])
    assert all(one.equals(other, check_metadata=True) for one, other in zip(got, sent, strict=True))


def test_dictionaries_that_come_after_a_table_without_rows_are_read():
    words_later = ROWS["dictionary"]
    empty = words_later.schema.empty_table()
    codec = codecs.arrow(pa.Table)
    sent = [empty, empty, empty, *[pa.Table.from_batches([words_later])] * 3]
    assert codec.decode_many([joined(codec.encode(rows)) for rows in sent]) == sent


def test_a_schema_is_parsed_when_it_comes_for_the_first_two_times(monkeypatch):
    own_reader, calls = pa.ipc.open_stream, []

    def counted(buffer):
        calls.append(buffer)
        return own_reader(buffer)

    monkeypatch.setattr(pa.ipc, "open_stream", counted)
    codec = codecs.arrow()
    codec.decode_many([arrows_own(numbers())] * 10)
    assert len(calls) == 2
    codec.decode_many([arrows_own(plain()), arrows_own(numbers())] * 10)
    assert len(calls) == 4


def test_readers_remember_so_many_schemas_and_none_that_is_long_or_has_dictionaries():
    reader = _arrow_stream.ArrowStreamReader(pa, None)
    for number in range(3 * _arrow_stream.SCHEMAS_MAX):
        rows = pa.record_batch({f"column {number}": [number]})
        for _ in range(3):
            assert reader.read(arrows_own(rows))[1] == [rows]
        assert len(reader._schemas) <= _arrow_stream.SCHEMAS_MAX
    reader = _arrow_stream.ArrowStreamReader(pa, None)
    for _ in range(3):  # only Arrow's own reader reads dictionaries
        reader.read(arrows_own(ROWS["dictionary"]))
    assert not reader._schemas
    long = numbers().replace_schema_metadata({"text": "x" * _arrow_stream.SCHEMA_LENGTH_MAX})
    codec = codecs.arrow()
    for _ in range(3):
        assert joined(codec.encode(long)) == arrows_own(long)
        assert reader.read(arrows_own(long))[1] == [long]
    assert not reader._schemas


def test_streams_of_old_writers_are_read():
    """Their messages begin with the length, so with any byte."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(use_legacy_format=True)
    with pa.ipc.new_stream(sink, numbers().schema, options=options) as writer:
        writer.write(numbers())
    old = sink.getvalue().to_pybytes()
    assert old[:4] != _arrow_stream.MARK
    codec = codecs.arrow()
    assert codec.decode_many([old, arrows_own(numbers())] * 4) == [numbers()] * 8


# ---- whatever comes, a reader that knows the schema reads what Arrow's own reader does ----


def what_is_read(read, message):
    """The schema, and rows and buffers of each batch; None: the message is refused."""
    try:
        schema, batches = read(message)
    except (pa.ArrowException, OSError):
        return None
    return schema.serialize().to_pybytes(), [
        (batch.num_rows, [buffer and buffer.to_pybytes() for buffer in buffers_of(batch)])
        for batch in batches
    ]


def buffers_of(batch):
    return batch.to_struct_array().buffers()


def arrows_own_reader(message):
    reader = pa.ipc.open_stream(pa.py_buffer(message))
    batches = list(reader)
    for batch in batches:
        batch.validate(full=True)
    return reader.schema, batches


@pytest.fixture
def message():
    return arrows_own(pa.Table.from_batches([plain(), plain().slice(1)]))


@pytest.fixture
def reader(message):
    """A reader that knows the schema."""
    reader = _arrow_stream.ArrowStreamReader(pa, None)
    for _ in range(3):
        reader.read(message)
    return reader


def test_a_message_that_was_cut_off(message, reader):
    for length in range(len(message)):
        cut = message[:length]
        assert what_is_read(reader.read, cut) == what_is_read(arrows_own_reader, cut), length


def test_a_message_with_flipped_bytes(message, reader):
    rng = random.Random(7)
    for _ in range(3000):
        flipped = bytearray(message)
        for _ in range(rng.randint(1, 3)):
            flipped[rng.randrange(len(flipped))] = rng.randrange(256)
        data = bytes(flipped)
        assert what_is_read(reader.read, data) == what_is_read(arrows_own_reader, data), data


def test_columns_of_another_byte_order_are_turned_each_time():
    """The schema says the order. Arrow leaves the usual one out, so one is found by trying."""
    message = arrows_own(numbers())
    turned_buffer = b"".join(number.to_bytes(8, "big") for number in range(3))
    turned_count = 0
    for index, value in itertools.product(range(36, 44), range(256)):
        data = message[:index] + bytes([value]) + message[index + 1 :]
        expected = what_is_read(arrows_own_reader, data)
        if expected is None or turned_buffer not in expected[1][0][1]:
            continue
        turned_count += 1
        reader = _arrow_stream.ArrowStreamReader(pa, None)
        for _ in range(4):
            assert what_is_read(reader.read, data) == expected
    assert turned_count > 0


def test_an_error_holds_no_memory_of_a_view(message):
    """The transport takes a view back, which raises BufferError while something points into it."""
    invalid = bytearray(arrows_own(pa.record_batch({"text": ["x", "yy"]})))
    offsets = invalid.rindex((1).to_bytes(4, "little") + (3).to_bytes(4, "little"))
    invalid[offsets + 4 : offsets + 8] = (1 << 20).to_bytes(4, "little")
    other = codecs.arrow(schema=pa.schema([("px", pa.float64())]))
    for codec, data in (
        (codecs.arrow(view=True), message[:-100]),
        (codecs.arrow(view=True), b"junk" * 100),
        (codecs.arrow(view=True), bytes(invalid)),
        (other, message),
    ):
        for _ in range(3):
            view = memoryview(bytearray(data))
            with pytest.raises(CodecError) as caught:
                codec.decode_many([view])
            view.release()
            assert caught.value is not None
