"""Messages made to end the reader, or to take all of its memory.

What crashes a reader without its checks runs in a process of its own.
"""

import struct
import subprocess
import sys

import numpy as np
import pytest

from rstream import codecs
from rstream.codecs import Limits, _frame
from rstream.codecs._arrow_sizes import claim_of
from rstream.codecs._limits import limited
from rstream.errors import CodecError, ConfigError, StorageError
from rstream.ledger import _rows

pa = pytest.importorskip("pyarrow")

CHILD = """
import sys, pyarrow
from rstream import codecs
from rstream.errors import CodecError, StorageError
from rstream.ledger._rows import from_bytes
data = bytes.fromhex(sys.argv[1])
try:
    rows = from_bytes(data) if sys.argv[2] == "ledger" else codecs.arrow().decode_many([data])[0]
except (CodecError, StorageError) as error:
    print("refused:", error)
else:
    print(rows.to_pylist())
"""


def stream_of(rows, **options):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write(rows)
    return sink.getvalue().to_pybytes()


def patched(data, before, after):
    assert data.count(before) >= 1
    return data.replace(before, after)


def joined(encoded):
    return b"".join(map(bytes, encoded)) if isinstance(encoded, list) else bytes(encoded)


def numbers_of(form, *numbers):
    return struct.pack(f"<{len(numbers)}{form}", *numbers)


def bad_texts():
    """Offsets whose first and last are right."""
    rows = pa.record_batch({"t": ["aaaaaaaa", "bbbbbbbb", "cccccccc"]})
    good, bad = numbers_of("i", 0, 8, 16, 24), numbers_of("i", 0, 8, 0x7FFFFF00, 24)
    return patched(stream_of(rows), good, bad)


def bad_lists():
    rows = pa.record_batch({"l": [[1, 2], [3, 4], [5, 6]]})
    good, bad = numbers_of("i", 0, 2, 4, 6), numbers_of("i", 0, 2, 0x7FFFFF0, 6)
    return patched(stream_of(rows), good, bad)


def bad_dictionary():
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, 0], pa.int32()), ["x", "y"])
    rows = pa.record_batch({"w": words})
    good, bad = numbers_of("i", 0, 1, 1, 0), numbers_of("i", 0, 1, 0x7FFFFF00, 0)
    return patched(stream_of(rows), good, bad)


def bad_union():
    kinds = pa.array([0, 1, 0, 1, 0, 1, 0, 1], pa.int8())
    column = pa.UnionArray.from_sparse(kinds, [pa.array(range(8)), pa.array(list("abcdefgh"))])
    data = stream_of(pa.record_batch({"u": column}))
    return patched(data, bytes([0, 1] * 4), bytes([0, 1, 0, 99, 0, 1, 0, 1]))


BAD = {"texts": bad_texts, "lists": bad_lists, "dictionary": bad_dictionary, "union": bad_union}


@pytest.mark.parametrize("reader", ["codec", "ledger"])
@pytest.mark.parametrize("make", BAD.values(), ids=BAD)
def test_arrow_offsets_that_lead_out_of_the_columns_are_refused(make, reader):
    done = subprocess.run(
        [sys.executable, "-c", CHILD, make().hex(), reader],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
    assert done.stdout.startswith("refused:"), done.stdout


@pytest.mark.parametrize("length", [0, 4, 100, -30])
def test_a_stored_batch_that_was_cut_off_is_an_error_of_its_own(length):
    data = _rows.to_bytes(pa.record_batch({"n": [1, 2, 3]}))
    assert _rows.from_bytes(data).num_rows == 3
    with pytest.raises(StorageError, match="damaged"):
        _rows.from_bytes(data[:length])


# ---- bombs ----

SMALL = Limits(decoded_bytes=1 << 20)
TOO_MUCH = r"would become .* bytes, and decoded_bytes of this reader"


def many(count, one):
    return b"\xdd" + struct.pack(">I", count) + one * count


MSGPACK_BOMBS = {
    "empty maps": many(20_000, b"\x80"),
    "empty lists": many(20_000, b"\x90"),
    "maps of maps": many(10_000, b"\x81\x80\x80"),
    "maps of one": many(6_000, b"\x81\x01\x02"),
    "numbers": many(40_000, b"\xca\x00\x00\x00\x01"),
    "short texts": many(20_000, b"\xa1\xe9"),
    "wide text": b"\xdb" + struct.pack(">I", 400_004) + b"a" * 400_000 + "\U0001f600".encode(),
    "a header of 2^24 in 2^24": many(1 << 17, b"\xc0") + b"\xc0",
}


@pytest.mark.parametrize("type_", [None, list, list[dict]], ids=repr)
@pytest.mark.parametrize("data", MSGPACK_BOMBS.values(), ids=MSGPACK_BOMBS)
def test_msgpack_of_many_small_objects_has_a_limit_before_memory_is_taken(data, type_):
    codec = codecs.msgpack(type_ or object, limits=SMALL)
    for message in (data, memoryview(data)):
        with pytest.raises(CodecError, match=TOO_MUCH):
            codec.decode_many([message])
    structure = joined(_frame.pack(data, []))
    with pytest.raises(CodecError, match=TOO_MUCH):
        codecs.msgpack(limits=SMALL).decode_many([b"\x01", structure])


@pytest.mark.parametrize(
    "data",
    [
        b"\x91" * (1 << 20),
        b"\xdd\xff\xff\xff\xff" * 1000,
        b"\xdf\xff\xff\xff\xff" + b"\x00" * 99_999,
    ],
    ids=["deep", "headers", "header of a map"],
)
@pytest.mark.parametrize("limits", [SMALL, Limits()], ids=["small", "usual"])
def test_msgpack_that_is_not_whole_is_refused_without_its_memory(data, limits):
    with pytest.raises(CodecError):
        codecs.msgpack(limits=limits).decode_many([data])


def test_what_lies_in_msgpack_as_it_is_has_no_limit_of_decoded_bytes():
    objects = [bytes(3 << 20), "a" * (3 << 20), {"a": [bytes(2 << 20)] * 2}, list(range(100)) * 900]
    codec = codecs.msgpack(limits=SMALL)
    for obj in objects:
        assert codec.decode_many([codecs.msgpack().encode(obj)]) == [obj]
    assert codec.decode_many([]) == []


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_compressed_columns_have_a_limit_before_memory_is_taken(compression):
    zeros = pa.record_batch({"z": np.zeros(4_000_000, np.int8)})
    data = stream_of(zeros, compression=compression)
    assert len(data) < 40_000
    with pytest.raises(CodecError, match="would become 4000000 bytes, and decoded_bytes"):
        codecs.arrow(limits=Limits(decoded_bytes=3_999_999)).decode_many([data])
    (back,) = codecs.arrow(limits=Limits(decoded_bytes=4_000_000)).decode_many([data])
    assert back.equals(zeros)


def test_the_bytes_that_compressed_columns_claim_are_counted_and_not_taken():
    data = stream_of(pa.record_batch({"z": np.zeros(1 << 20, np.int8)}), compression="zstd")
    bomb = patched(
        data, numbers_of("q", 1 << 20) + b"(\xb5/\xfd", numbers_of("q", 1 << 40) + b"(\xb5/\xfd"
    )
    with pytest.raises(CodecError, match=f"become {1 << 40} bytes") as caught:
        codecs.arrow().decode_many([bomb])
    assert "limits=rstream.codecs.Limits(decoded_bytes=" in str(caught.value)


@pytest.mark.parametrize(
    "column",
    [
        pa.nulls(1_234_567),
        pa.array([b""] * 1_234_567, pa.binary(0)),
        pa.FixedSizeListArray.from_arrays(pa.nulls(1_234_567), 1_234_567),
        pa.ListArray.from_arrays(pa.array([0, 1_234_567], pa.int32()), pa.nulls(1_234_567)),
        pa.RunEndEncodedArray.from_arrays(pa.array([1_234_567], pa.int64()), pa.array([1])),
    ],
    ids=["nulls", "no bytes", "fixed list", "list", "runs"],
)
@pytest.mark.parametrize("type_", [None, "pandas"])
def test_rows_without_bytes_have_a_limit(column, type_):
    data = stream_of(pa.record_batch({"n": column}))
    type_ = type_ and pytest.importorskip("pandas").DataFrame
    with pytest.raises(CodecError, match="1234567 rows or elements, and rows of this reader"):
        codecs.arrow(type_, limits=Limits(rows=1_000_000)).decode_many([data])
    bomb = patched(data, numbers_of("q", 1_234_567), numbers_of("q", 10**12))
    with pytest.raises(CodecError, match=r"would become [0-9]{13} (rows|bytes)"):
        codecs.arrow(type_).decode_many([bomb])


def test_rows_without_columns_have_a_limit():
    rows = pa.record_batch({"n": range(77_777)}).select([])
    bomb = patched(stream_of(rows), numbers_of("q", 77_777), numbers_of("q", 10**12))
    with pytest.raises(CodecError, match="1000000000000 rows"):
        codecs.arrow().decode_many([bomb])


def test_what_several_columns_share_counts_for_each():
    """The buffers of a batch may overlap: each column is a copy of them in a data frame."""
    count, rows = 100, 1000
    names = [f"c{n}" for n in range(count)]
    batch = pa.record_batch({name: np.arange(rows) for name in names})
    data = bytearray(stream_of(batch))
    claim = claim_of(bytes(data))
    assert claim == (8 * rows * count, rows, rows * count)


def test_null_columns_of_a_data_frame_count_what_pandas_takes():
    pandas = pytest.importorskip("pandas")
    data = stream_of(pa.record_batch({f"n{n}": pa.nulls(1_000_000) for n in range(200)}))
    with pytest.raises(CodecError, match="become 1600000000 bytes"):
        codecs.arrow(pandas.DataFrame).decode_many([data])
    assert codecs.arrow().decode_many([data])[0].num_rows == 1_000_000


def test_what_has_its_bytes_in_the_message_is_never_refused():
    tight = Limits(decoded_bytes=1, rows=1)
    rows = pa.record_batch({"b": [True, False] * 4000, "n": range(8000), "t": ["x"] * 8000})
    assert codecs.arrow(limits=tight).decode_many([stream_of(rows)])[0].equals(rows)
    array = np.arange(100_000.0)
    codec = codecs.numpy(limits=tight)
    (back,) = codec.decode_many([joined(codec.encode(array))])
    assert (back == array).all()
    assert codecs.raw().with_limits(tight).decode_many([b"abc"]) == [b"abc"]


def array_message(text, *shape):
    header = struct.pack(f"<BBH{len(shape)}q", 1, len(shape), len(text), *shape) + text
    return header.ljust(-(-len(header) // 16) * 16, b"\0")


@pytest.mark.parametrize(
    "message",
    [
        array_message(b"|V0", 1 << 40),
        array_message(b"<U0", 1 << 20, 1 << 20),
        array_message(b"<f8", 1 << 40, 0),
        array_message(b"<f8", 0, 1 << 40),
        array_message(b"|V0", 1 << 62),
    ],
)
def test_arrays_without_bytes_have_a_limit(message):
    with pytest.raises(CodecError, match="rows or elements"):
        codecs.numpy().decode_many([message])


def test_elements_without_bytes_have_no_arrays_of_them_inside():
    text = b'{"names":["a"],"formats":[["|V0",[1073741824]]],"offsets":[0],"itemsize":1}'
    with pytest.raises(CodecError, match="is no dtype of numpy"):
        codecs.numpy().decode_many([array_message(text, 1) + b"x"])


def test_arrays_without_elements_are_read():
    for shape in ((0,), (3, 0), (0, 5, 7), (1000, 0, 1000)):
        codec = codecs.numpy()
        (back,) = codec.decode_many([bytes(codec.encode(np.zeros(shape)))])
        assert back.shape == shape


def framed(code, references, *buffers):
    """A message with buffers whose structure is a list of extension types of one code."""
    import msgspec

    structure = msgspec.msgpack.encode([msgspec.msgpack.Ext(code, one) for one in references])
    return joined(_frame.pack(structure, [[one] for one in buffers]))


@pytest.mark.parametrize("form", [b"batch", b"table"])
def test_the_tables_of_a_message_share_its_limits(form):
    table = stream_of(pa.record_batch({"z": np.zeros(600_000, np.int8)}), compression="zstd")

    def message(count):
        references = [struct.pack("<I", index) + form for index in range(count)]
        return framed(124, references, *[table] * count)

    codec = codecs.msgpack(limits=Limits(decoded_bytes=1_000_000))
    ((back,),) = codec.decode_many([message(1)])
    assert back.num_rows == 600_000
    with pytest.raises(CodecError, match="become 1200000 bytes"):
        codec.decode_many([message(3)])


def test_the_arrays_without_bytes_of_a_message_share_its_limits():
    array = array_message(b"|V0", 600_000)

    def message(count):
        references = [struct.pack("<I", index) + array for index in range(count)]
        return framed(120, references, *[b""] * count)

    codec = codecs.msgpack(limits=Limits(rows=1_000_000))
    assert codec.decode_many([message(1)])[0][0].size == 600_000
    with pytest.raises(CodecError, match="become 1200000 rows or elements"):
        codec.decode_many([message(3)])


# ---- the option ----


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "1", None])
def test_a_limit_is_a_whole_number_from_one_on(wrong):
    with pytest.raises(ConfigError, match="decoded_bytes="):
        Limits(decoded_bytes=wrong)
    with pytest.raises(ConfigError, match="rows="):
        Limits(rows=wrong)


def test_a_codec_gets_limits_from_its_face():
    tight = Limits(decoded_bytes=7, rows=7)
    for codec in (codecs.raw(), codecs.msgpack(int), codecs.arrow(), codecs.numpy("f4")):
        again = limited(codec, tight)
        assert again.codec_id == codec.codec_id
        assert limited(codec, None) is codec
    with pytest.raises(ConfigError, match="pickle keeps none"):
        limited(codecs.pickle(trusted=True), tight)
    with pytest.raises(ConfigError, match="give rstream"):
        limited(codecs.raw(), 7)
