"""Codecs: decoding returns what was encoded.

What cannot be encoded or decoded raises a CodecError that names the codec and the reason.
"""

import dataclasses
import enum
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import msgspec
import pytest

from rstream import codecs
from rstream.errors import CodecError, ConfigError


class Tick(msgspec.Struct):
    px: float
    symbol: str = ""


class Side(enum.Enum):
    BUY = "buy"


def as_bytes(encoded):
    return b"".join(bytes(part) for part in (encoded if isinstance(encoded, list) else [encoded]))


def round_trip(codec, objects):
    return codec.decode_many([as_bytes(codec.encode(item)) for item in objects])


def test_raw_takes_any_buffer():
    assert round_trip(codecs.raw(), [b"a", bytearray(b"b"), memoryview(b"c"), b""]) == [
        b"a",
        b"b",
        b"c",
        b"",
    ]


def test_msgpack_plain_values():
    values = [None, 1, 2.5, "x", [1, [2]], {"px": 1.0}, b"raw", True]
    assert round_trip(codecs.msgpack(), values) == values


def test_msgpack_checks_the_type():
    assert round_trip(codecs.msgpack(Tick), [Tick(1.0, "A")]) == [Tick(1.0, "A")]
    wrong = as_bytes(codecs.msgpack().encode({"px": "high"}))
    good = as_bytes(codecs.msgpack().encode({"px": 1.0}))
    with pytest.raises(CodecError, match=r"message 1 .*msgpack of Tick.*float"):
        codecs.msgpack(Tick).decode_many([good, wrong])


def test_msgpack_of_dataclass_and_generic():
    @dataclasses.dataclass
    class Point:
        x: int

    assert round_trip(codecs.codec_for(Point), [Point(3)]) == [Point(3)]
    assert round_trip(codecs.codec_for(list[int]), [[1, 2]]) == [[1, 2]]


@pytest.mark.parametrize(
    ("sent", "arrives"),
    [
        (Tick(1.0), {"px": 1.0, "symbol": ""}),
        ((1, 2), [1, 2]),
        ({1}, [1]),
        (frozenset({1}), [1]),
        (datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05"),
        (date(2026, 1, 2), "2026-01-02"),
        (time(3, 4, 5), "03:04:05"),
        (timedelta(seconds=90), "PT90S"),
        (Decimal("1.10"), "1.10"),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (Side.BUY, "buy"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_msgpack_without_a_type_brings_plain_values_and_with_it_what_was_sent(sent, arrives):
    """The table of docs/how-to/codecs.md."""
    assert round_trip(codecs.msgpack(), [sent]) == [arrives]
    (back,) = round_trip(codecs.msgpack(type(sent)), [sent])
    assert (type(back), back) == (type(sent), sent)


def test_msgpack_turns_a_time_zone_into_utc():
    sent = datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))
    (back,) = round_trip(codecs.msgpack(), [sent])
    assert (back, back.tzinfo) == (sent, UTC)


def test_msgpack_refuses_what_it_cannot_encode():
    with pytest.raises(CodecError, match="object"):
        codecs.msgpack().encode(object())


def test_numpy_arrays_without_dimensions():
    np = pytest.importorskip("numpy")
    codec = codecs.numpy("f8", ())
    (array,) = codec.decode_many([bytes(codec.encode(np.array(5.0)))])
    assert (array.shape, array[()]) == ((), 5.0)


def test_msgpack_says_what_to_send_instead_of_numpy():
    np = pytest.importorskip("numpy")
    for scalar in (np.float64(1.5), {"px": np.int32(2)}, [np.bool_(True)]):
        with pytest.raises(CodecError, match=r"numpy\.\w+ is unsupported; .*value\.item\(\)"):
            codecs.msgpack().encode(scalar)
    for array in (np.zeros(3), {"px": np.zeros(3)}):
        with pytest.raises(CodecError, match=r"tolist\(\).*codecs\.numpy\(dtype, shape\)"):
            codecs.msgpack().encode(array)


@pytest.mark.parametrize("junk", [b"", b"\xc1", b"\x81", b"\xa5ab"])
def test_msgpack_junk_is_a_codec_error(junk):
    with pytest.raises(CodecError):
        codecs.msgpack().decode_many([junk])


def test_arrow_round_trip_with_schema_metadata_and_dictionary():
    pa = pytest.importorskip("pyarrow")
    batch = pa.record_batch(
        {"a": pa.array([1, None, 3]), "d": pa.array(["x", "y", "x"]).dictionary_encode()}
    ).replace_schema_metadata({b"k": b"v"})
    (back,) = round_trip(codecs.codec_for(pa.RecordBatch), [batch])
    assert back.equals(batch, check_metadata=True)


def test_arrow_sends_a_slice_as_its_rows_alone():
    pa = pytest.importorskip("pyarrow")
    batch = pa.record_batch({"a": list(range(100_000))})
    encoded = as_bytes(codecs.arrow().encode(batch.slice(10, 3)))
    assert len(encoded) < 1000
    assert codecs.arrow().decode_many([encoded])[0].to_pydict() == {"a": [10, 11, 12]}


def test_arrow_refuses_other_objects_and_junk():
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(CodecError, match="to_batches"):
        codecs.arrow().encode(pa.table({"a": [1]}))
    whole = as_bytes(codecs.arrow().encode(pa.record_batch({"a": [1]})))
    for junk in (b"", b"junk", whole[: len(whole) // 2]):
        with pytest.raises(CodecError):
            codecs.arrow().decode_many([junk])


def test_numpy_round_trip_and_refusals():
    np = pytest.importorskip("numpy")
    codec = codecs.numpy("u1", (2, -1))
    image = np.arange(10, dtype="u1").reshape(2, 5)
    (back,) = round_trip(codec, [image])
    assert (back == image).all()
    assert not back.flags.writeable
    with pytest.raises(CodecError, match="float64"):
        codec.encode(np.zeros((2, 5)))
    with pytest.raises(CodecError, match=r"cannot send an array.*; convert it with astype"):
        codec.encode(np.zeros((3, 5), "u1"))
    with pytest.raises(CodecError):
        codec.decode_many([b"123"])
    with pytest.raises(ConfigError, match="objects"):
        codecs.numpy("O", (1,))
    with pytest.raises(ConfigError, match="-1"):
        codecs.numpy("u1", (-1, -1))


def test_numpy_dtypes_have_ids_of_their_own():
    pytest.importorskip("numpy")
    texts = "? i1 u1 <i2 <u2 <i4 <u4 <i8 <u8 <f2 <f4 <f8 <c8 <c16"
    big = ">i2 >u2 >i4 >u4 >i8 >u8 >f2 >f4 >f8 >c8 >c16"
    ids = [codecs.numpy(text, (1,)).codec_id for text in (*texts.split(), *big.split())]
    assert ids == [*range(32, 46), *range(51, 62)]
    assert codecs.describe_codec(ids[-4]) == "numpy big-endian float32 (id 58)"
    assert all(codec_id in codecs.CODEC_NAMES for codec_id in ids)
    others = [codecs.numpy(dtype, (1,)).codec_id for dtype in ("M8[ns]", "U3", [("a", "u1")])]
    assert others == [4, 4, 4]


def test_numpy_sends_what_is_not_contiguous():
    np = pytest.importorskip("numpy")
    part = np.arange(12, dtype="<i4").reshape(3, 4)[:, ::2]
    (back,) = round_trip(codecs.numpy("<i4", (3, 2)), [part])
    assert back.tolist() == part.tolist()


def test_pickle_needs_explicit_trust():
    with pytest.raises(ConfigError, match="trusted"):
        codecs.pickle(trusted=False)
    assert round_trip(codecs.pickle(trusted=True), [{1, 2}, Tick]) == [{1, 2}, Tick]
    with pytest.raises(CodecError):
        codecs.pickle(trusted=True).decode_many([b"junk"])


def test_the_type_chooses():
    pa = pytest.importorskip("pyarrow")
    assert codecs.codec_for(bytes).codec_id == 1
    assert codecs.codec_for().codec_id == 2
    assert codecs.codec_for(Tick).codec_id == 2
    assert codecs.codec_for(pa.RecordBatch).codec_id == 3
    with pytest.raises(ConfigError):
        codecs.codec_for(list[int] | tuple[int])


def test_arrays_need_their_shape():
    np = pytest.importorskip("numpy")
    with pytest.raises(ConfigError, match="dtype and shape"):
        codecs.codec_for(np.ndarray)


def test_names():
    assert [codecs.named(name).codec_id for name in ("raw", "msgpack", "arrow", "pickle")] == [
        1,
        2,
        3,
        5,
    ]
    with pytest.raises(ConfigError, match="jason"):
        codecs.named("jason")
    assert codecs.describe_codec(2) == "msgpack (id 2)"
    assert codecs.describe_codec(200) == "user codec (id 200)"


@pytest.mark.parametrize(
    ("type_", "codec", "codec_id"),
    [
        (None, None, 2),
        (bytes, None, 1),
        (Tick, None, 2),
        (None, "raw", 1),
        (None, "msgpack", 2),
        (None, bytes, 1),
        (None, Tick, 2),
        (Tick | None, None, 2),
        (Tick, codecs.raw(), 1),
    ],
)
def test_a_codec_is_chosen_by_its_name_by_a_type_or_as_an_object(type_, codec, codec_id):
    assert codecs.choose(type_, codec).codec_id == codec_id


def test_a_named_codec_decodes_to_the_type():
    assert round_trip(codecs.choose(Tick, "msgpack"), [Tick(1.0)]) == [Tick(1.0)]
    assert round_trip(codecs.choose(None, Tick | None), [Tick(1.0), None]) == [Tick(1.0), None]


def test_the_arrow_codec_by_its_name():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    batch = pa.record_batch({"px": [1.0, 2.0]})
    assert round_trip(codecs.choose(None, "arrow"), [batch]) == [batch]


class _Text:
    codec_id = codecs.USER_CODEC_ID

    def encode(self, obj):
        return obj.encode()

    def decode_many(self, messages):
        return [message.decode() for message in messages]


@pytest.mark.parametrize(
    ("type_", "codec", "text"),
    [
        ("arrow", None, "codec='arrow'"),
        (None, "jason", "known names are raw"),
        (None, "pickle", "trusted=True"),
        (None, _Text, r"give an object of it, _Text\(\)"),
    ],
)
def test_an_argument_that_chooses_no_codec_is_refused(type_, codec, text):
    with pytest.raises(ConfigError, match=text):
        codecs.choose(type_, codec)


@pytest.mark.parametrize("codec_id", [0, 2, 127, 256, True, "128", None])
def test_a_codec_of_a_user_has_an_id_of_his_own(codec_id):
    codec = _Text()
    codec.codec_id = codec_id
    with pytest.raises(ConfigError, match=r"_Text: codec_id=.* must be an int from 128 to 255"):
        codecs.choose(None, codec)
    codec.codec_id = 255
    assert codecs.choose(None, codec) is codec


@pytest.mark.parametrize(
    ("codec", "obj", "hint"),
    [
        (codecs.msgpack(), object(), "send dicts, lists"),
        (codecs.pickle(trusted=True), (n for n in ()), "send its plain values"),
    ],
)
def test_a_refused_object_gets_a_hint_what_to_send(codec, obj, hint):
    with pytest.raises(CodecError, match=f"^{type(obj).__name__} cannot be .*; {hint}"):
        codec.encode(obj)


@pytest.mark.parametrize(
    ("dtype", "shape", "text"),
    [
        ("zz", (3,), "dtype='zz': .*; give a dtype of numpy, such as"),
        ("f4", 3, r"shape=3: must be a tuple of whole numbers, such as \(3,\)"),
        ("f4", ("3",), r"shape=\('3',\): must be a tuple of whole numbers"),
        ("f4", (2.0,), r"shape=\(2\.0,\): must be a tuple of whole numbers"),
    ],
)
def test_numpy_refuses_a_dtype_or_shape_that_is_none(dtype, shape, text):
    pytest.importorskip("numpy")
    with pytest.raises(ConfigError, match=text):
        codecs.numpy(dtype, shape)
