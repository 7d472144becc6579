"""Arrays describe themselves: what was sent arrives, and a mismatch names both sides.

What comes from the network is data: no header makes an object, a crash, or another error than
CodecError.
"""

import json
import struct
from datetime import date, datetime, timedelta
from typing import Any, TypeVar

import hypothesis
import msgspec
import pytest
from hypothesis import strategies as st
from typing_extensions import TypeAliasType

from rstream import codecs
from rstream.codecs import _numpy
from rstream.errors import CodecError, ConfigError

np = pytest.importorskip("numpy")
npt = pytest.importorskip("numpy.typing")

NESTED = np.dtype([("id", "<u4"), ("at", "<M8[ns]"), ("box", [("x", ">f4"), ("y", ">f4")], (2, 3))])
PADDED = np.dtype([("a", "u1"), ("b", "<f8"), ("c", "S3")], align=True)
OVERLAP = np.dtype(
    {"names": ["a", "b"], "formats": ["<u4", "<u2"], "offsets": [0, 2], "itemsize": 9}
)


def message_of(codec, array):
    encoded = codec.encode(array)
    return b"".join(map(bytes, encoded)) if isinstance(encoded, list) else bytes(encoded)


def sent(array, codec=None):
    (back,) = (codec or codecs.numpy()).decode_many([message_of(codecs.numpy(), array)])
    return back


def assert_same(back, array):
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert back.flags.f_contiguous or not array.flags.f_contiguous
    assert back.flags.aligned


PLAIN = "? i1 u1 <i2 >i2 <u4 >u8 <f2 <f4 >f4 <f8 <c8 >c16 <M8[ns] >M8[D] <m8[s] <U3 >U5 S7 V4"
DTYPES = [*map(np.dtype, PLAIN.split()), NESTED, PADDED, OVERLAP, np.dtype(np.longdouble)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (5,), (4, 3), (2, 3, 4)], ids=str)
def test_an_array_arrives_as_it_was_sent(dtype, shape):
    array = np.zeros(shape, dtype)
    if array.size:
        array = np.frombuffer(b"\0\1" * (array.nbytes // 2) + b"\1" * (array.nbytes % 2), dtype)
    assert_same(sent(array.reshape(shape)), array.reshape(shape))


@pytest.mark.parametrize("size", [3, 300], ids=["joined", "in parts"])
def test_the_order_of_the_elements_stays(size):
    array = np.arange(size * size, dtype="<f8").reshape(size, size)
    for each in (array, array.T, np.asfortranarray(array)):
        assert_same(sent(each), each)
    assert sent(array.T).flags.fnc


@pytest.mark.parametrize("size", [20, 2000], ids=["joined", "in parts"])
def test_what_is_not_contiguous_arrives_as_its_elements(size):
    array = np.arange(4 * size, dtype="<i4").reshape(4, size)
    for part in (array[:, ::2], array[::-1], array[1:3, 5:9], np.broadcast_to(array[0], (3, size))):
        back = sent(part)
        assert back.tolist() == part.tolist()
        assert back.dtype == part.dtype


def test_a_large_array_is_not_copied_to_be_sent():
    array = np.zeros(100_000)
    for each in (array, array.reshape(100, 1000).T):
        _, elements = codecs.numpy().encode(each)
        assert np.shares_memory(np.frombuffer(elements, "u1"), array)


def test_scalars_and_lists_are_arrays():
    assert_same(sent(np.float32(1.5)), np.array(1.5, "f4"))
    assert sent([1.0, 2.0]).tolist() == [1.0, 2.0]
    assert type(sent(np.zeros(2).view(np.recarray))) is np.ndarray


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        (np.array([None, 1]), r"dtype object holds Python objects.*; convert it: astype\(\"f8\"\)"),
        (np.zeros(2, [("a", "O")]), "holds Python objects"),
        (np.ma.array([1, 2], mask=[0, 1]), r"not MaskedArray; send array\.filled"),
        ({"a": 1}, r"sends arrays, not dict; send numpy\.asarray"),
        ("text", "sends arrays, not str"),
        ([object()], "holds Python objects"),
        ([[1], [2, 3]], "list is no array of numpy: .*inhomogeneous"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_array_of_bytes_is_refused_with_what_to_send(obj, text):
    with pytest.raises(CodecError, match=text):
        codecs.numpy().encode(obj)


def test_a_dtype_of_another_package_is_refused():
    odd = np.zeros(2, np.dtype({"names": ["a"], "formats": ["f4"], "titles": ["the title"]}))
    with pytest.raises(CodecError, match=r"cannot be told to a reader; send it as one of numpy's"):
        codecs.numpy().encode(odd)


def test_arrays_are_read_only_unless_asked_for_a_copy():
    array = np.arange(10.0)
    assert not sent(array).flags.writeable
    assert not sent(np.zeros(0)).flags.writeable
    changed = sent(array, codecs.numpy(writable=True))
    changed += 1
    assert changed.tolist() == (array + 1).tolist()


@pytest.mark.parametrize(
    ("dtype", "shape", "array", "sends", "expects"),
    [
        ("f4", None, np.zeros(3), r"float64 \(3,\)", "float32"),
        ("<f4", None, np.zeros(3, ">f4"), r">f4 \(3,\)", "float32"),
        (None, (3, -1), np.zeros(3), r"float64 \(3,\)", r"any dtype \(3, -1\)"),
        ("f8", (-1, 4), np.zeros((2, 5)), r"float64 \(2, 5\)", r"float64 \(-1, 4\)"),
        (PADDED, None, np.zeros(2, [("a", "u1")]), r"\[\('a', 'u1'\)\] \(2,\)", r".*'offsets'"),
    ],
)
def test_a_mismatch_names_both_sides_at_both_ends(dtype, shape, array, sends, expects):
    codec = codecs.numpy(dtype, shape)
    with pytest.raises(CodecError, match=rf"codec of {expects}.* cannot send an array of {sends}"):
        codec.encode(array)
    with pytest.raises(
        CodecError, match=rf"sends an array of {sends}, this reader expects {expects}"
    ):
        codec.decode_many([message_of(codecs.numpy(), array)])


def test_what_was_asked_for_passes():
    codec = codecs.numpy("f4", (-1, -1, 3))
    array = np.zeros((2, 5, 3), "f4")
    assert_same(codec.decode_many([message_of(codec, array)])[0], array)


@pytest.mark.parametrize(
    ("dtype", "shape", "text"),
    [
        ("zz", (3,), "dtype='zz': .*; give a dtype of numpy, such as"),
        ("O", None, "holds Python objects; name the type"),
        ("f4", 3, r"shape=3: must be a tuple of whole numbers, such as \(3,\)"),
        ("f4", ("3",), r"shape=\('3',\): must be a tuple of whole numbers"),
        ("f4", (2.0,), r"shape=\(2\.0,\): must be a tuple of whole numbers"),
        ("f4", (-2,), r"shape \(-2,\): a size is -1"),
    ],
)
def test_a_dtype_or_shape_that_is_none_is_refused(dtype, shape, text):
    with pytest.raises(ConfigError, match=text):
        codecs.numpy(dtype, shape)


def test_a_view_is_not_written_to():
    with pytest.raises(ConfigError, match=r"view=True and writable=True.*array\.copy\(\)"):
        codecs.numpy(view=True, writable=True)


@pytest.mark.parametrize(
    ("type_", "fits"),
    [
        (np.ndarray, True),
        (npt.NDArray[np.float64], True),
        (npt.NDArray[np.floating], True),
        (npt.NDArray[Any], True),
        (np.ndarray[tuple[int], np.dtype[np.float64]], True),
        (npt.NDArray[np.float32], False),
    ],
    ids=str,
)
def test_the_type_chooses_and_its_dtype_is_checked(type_, fits):
    for codec in (
        codecs.codec_for(type_),
        codecs.choose(None, type_),
        codecs.choose(type_, "numpy"),
    ):
        assert codec.codec_id == 4
        message = message_of(codecs.numpy(), np.zeros(2))
        if fits:
            assert codec.decode_many([message])[0].shape == (2,)
        else:
            with pytest.raises(CodecError, match="this reader expects float32"):
                codec.decode_many([message])


def test_an_alias_is_what_it_stands_for():
    """NumPy's NDArray is an alias with a parameter since 2.5."""
    scalar = TypeVar("scalar")
    any_shape = np.ndarray[tuple[Any, ...], np.dtype[scalar]]
    array = TypeAliasType("array", any_shape, type_params=(scalar,))
    single = TypeAliasType("single", array[np.float32])
    zeros = np.zeros(2, np.float32)
    for alias in (array[np.float32], single):
        assert codecs.codec_for(alias).decode_many([message_of(codecs.numpy(), zeros)])
        with pytest.raises(CodecError, match="this reader expects float32"):
            codecs.codec_for(alias).decode_many([message_of(codecs.numpy(), np.zeros(2))])
    assert codecs.codec_for(TypeAliasType("data", bytes)).codec_id == 1
    assert codecs.codec_for(TypeAliasType("numbers", list[int])).codec_id == 2


def test_texts_of_any_length_are_asked_for():
    (back,) = codecs.codec_for(npt.NDArray[np.str_]).decode_many(
        [message_of(codecs.numpy(), np.array(["a", "bcd"]))]
    )
    assert back.tolist() == ["a", "bcd"]


def test_many_shapes_do_not_grow_the_memory():
    codec = codecs.numpy()
    for size in range(2 * _numpy.HEADERS_MAX + 5):
        codec.decode_many([message_of(codec, np.zeros(size, "u1"))])
    assert 0 < len(codec._headers) <= _numpy.HEADERS_MAX
    assert 0 < len(codec._layouts) <= _numpy.HEADERS_MAX


# ---- foreign bytes ----


def forged(text, shape=(1,), body=b"\0" * 64, version=1, flags=0):
    head = struct.pack("<BBH", version, len(shape) | flags, len(text))
    head += struct.pack(f"<{len(shape)}q", *shape) + text
    return head.ljust(-(-len(head) // 16) * 16, b"\0") + body


def test_the_forger_makes_what_the_codec_reads():
    (back,) = codecs.numpy().decode_many([forged(b"<f8", (8,))])
    assert back.tolist() == [0.0] * 8


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"\x01\x00\xff\xff",
        forged(b"|O", (8,)),
        forged(
            json.dumps({"names": ["a"], "formats": ["O"], "offsets": [0], "itemsize": 8}).encode(),
            (8,),
        ),
        forged(b"[" * 200),
        forged(b'{"names": ' + b"[" * 9000),
        forged(b'{"names": ["a"], "formats": ["f8"], "offsets": [-8], "itemsize": 8}', (8,)),
        forged(b'{"names": ["a"], "formats": ["f8"], "offsets": [4096], "itemsize": 8}', (8,)),
        forged(b'{"names": 5, "formats": {}, "offsets": null, "itemsize": "x"}'),
        forged(b'{"names": ["a"], "formats": [["f8"]], "offsets": [0], "itemsize": 64}'),
        forged(b"<f8", (-8,)),
        forged(b"<f8", (2**62, 2**62)),
        forged(b"<f8", (9,)),
        forged(b"<f8", (7,)),
        forged(b"", (8,)),
        forged(b"\xff\xfe", (8,)),
        forged(b"(8,)f8", (1,)),
        forged(b"<f8", (8,), version=2),
        forged(b"<f8", (1,) * 65),
        forged(b"<f8", (0, 2**62, 2**62), b""),
    ],
    ids=lambda message: repr(message[:24]),
)
def test_a_forged_message_is_a_codec_error(message):
    with pytest.raises(CodecError):
        codecs.numpy().decode_many([message])


@hypothesis.given(
    st.binary(max_size=80),
    st.integers(0, 300),
    st.sampled_from([np.zeros(4), np.zeros((2, 3), NESTED), np.zeros((), PADDED)]),
)
def test_a_damaged_message_is_an_array_or_a_codec_error(damage, at, array):
    whole = bytearray(message_of(codecs.numpy(), array))
    whole[at : at + len(damage)] = damage
    try:
        (back,) = codecs.numpy().decode_many([bytes(whole)])
    except CodecError:
        return
    assert not back.dtype.hasobject
    assert back.nbytes <= len(whole)


# ---- scalars inside msgpack ----


@pytest.mark.parametrize(
    ("scalar", "arrives"),
    [
        (np.float64(1.5), 1.5),
        (np.int64(-3), -3),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (np.bytes_(b"x"), b"x"),
        (np.datetime64("2026-01-02"), "2026-01-02"),
        (np.datetime64("2026-01-02T03:04:05.000006000"), "2026-01-02T03:04:05.000006"),
        (np.datetime64("NaT", "s"), None),
        (np.timedelta64(90, "s"), "PT90S"),
    ],
    ids=repr,
)
def test_a_numpy_scalar_is_written_as_its_python_value(scalar, arrives):
    codec = codecs.msgpack()
    items = [scalar, {"px": scalar}, [scalar, [scalar]]]
    back = codec.decode_many([codec.encode(item) for item in items])
    assert back == [arrives, {"px": arrives}, [arrives, [arrives]]]
    assert type(back[0]) is type(arrives)


def test_a_numpy_scalar_may_be_a_key():
    codec = codecs.msgpack(dict[int, int])
    assert codec.decode_many([codec.encode({np.int64(3): np.int64(4)})]) == [{3: 4}]


@pytest.mark.parametrize(
    ("type_", "scalar"),
    [
        (date, np.datetime64("2026-01-02")),
        (datetime, np.datetime64("2026-01-02T03:04", "ns")),
        (timedelta, np.timedelta64(1500, "ms")),
    ],
)
def test_numpy_times_are_times_at_a_reader_with_their_type(type_, scalar):
    (back,) = codecs.msgpack(type_).decode_many([codecs.msgpack().encode(scalar)])
    assert type(back) is type_
    assert (
        np.datetime64(back) == scalar if type_ is not timedelta else np.timedelta64(back) == scalar
    )


def test_a_numpy_time_that_python_cannot_tell_is_refused():
    for scalar in (np.datetime64(1, "ns"), np.datetime64(10**6, "Y"), np.timedelta64(7, "ps")):
        with pytest.raises(CodecError, match="no equal among Python's times"):
            codecs.msgpack().encode({"at": scalar})


class Quote(msgspec.Struct):
    px: np.float32
    count: np.int8
    is_last: np.bool_


def test_a_field_of_a_numpy_type_is_brought_back():
    quote = Quote(np.float32(0.1), np.int8(5), np.bool_(True))
    codec = codecs.msgpack(Quote)
    (back,) = codec.decode_many([codec.encode(quote)])
    assert back == quote
    assert [type(value) for value in (back.px, back.count, back.is_last)] == [
        np.float32,
        np.int8,
        np.bool_,
    ]
    for wrong in ({"count": 300}, {"count": 2.5}, {"count": "5"}, {"is_last": 1}, {"px": "1"}):
        plain = {"px": 1.0, "count": 5, "is_last": True} | wrong
        with pytest.raises(
            CodecError, match=r"no msgpack of Quote.*; open the publisher and the r"
        ):
            codec.decode_many([codecs.msgpack().encode(plain)])
