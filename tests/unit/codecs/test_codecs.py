"""Codecs: decoding returns what was encoded.

What cannot be encoded or decoded raises a CodecError that names the codec and the reason.
"""

import dataclasses
import enum
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

import msgspec
import pytest

from rstream import codecs
from rstream.errors import CodecError, ConfigError


class Tick(msgspec.Struct):
    px: float
    symbol: str = ""


@dataclasses.dataclass
class OfAnUnknownClass:
    px: "Missing"  # noqa: F821


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


@pytest.mark.parametrize("junk", [b"", b"\xc1", b"\x81", b"\xa5ab"])
def test_msgpack_junk_is_a_codec_error(junk):
    with pytest.raises(CodecError):
        codecs.msgpack().decode_many([junk])


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
        ("Tick", None, "type='Tick': a text is no type; give the class itself"),
        (None, "Tick", "known names are raw.*; of a type, give the class itself"),
        (list["Tick"], None, "; give the class itself, not its name"),
        (None, dict[str, "Tick"], "; give the class itself, not its name"),
        ({"px": float}, None, r"; give a class, or a form such as .* dict\[str, float\]"),
        (OfAnUnknownClass, None, "name 'Missing' is not defined; the classes of its fields"),
        (1, None, "; give a class"),
        (codecs.raw, None, r"a codec, such as rstream.codecs.raw\(\), goes into codec="),
        (codecs.raw(), None, "goes into codec="),
    ],
)
def test_an_argument_that_chooses_no_codec_is_refused(type_, codec, text):
    with pytest.raises(ConfigError, match=text):
        codecs.choose(type_, codec)


def test_a_hint_at_names_of_classes_takes_no_literal_for_one():
    for form in (dict[Literal["a"], _Text()], dict[Annotated[str, "a"], _Text()]):
        with pytest.raises(ConfigError) as caught:
            codecs.choose(form, None)
        assert not caught.value.hint


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
