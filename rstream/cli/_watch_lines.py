"""The line that ``rstream watch`` prints for a message."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rstream import _core
from rstream.codecs import Limits, describe_codec, named
from rstream.stream._internal import (
    FLAGS_KNOWN,
    KIND_COMPLETE,
    KIND_ERROR,
    KIND_PART,
    KIND_PLAIN,
    decode_failure,
)

if TYPE_CHECKING:
    from rstream.cli._watcher import SeenMessage
    from rstream.codecs import Codec

__all__ = ("Shown", "is_message", "line_of")

#: Longest text of a message, in characters; JSON is never cut.
TEXT_MAX: Final = 1000
#: What a message may become to be shown.
LIMITS: Final = Limits(decoded_bytes=256 << 20, rows=100_000)
KINDS: Final = {KIND_COMPLETE: "complete", KIND_ERROR: "error", KIND_PART: "part"}
#: What can be decoded without the program that wrote it. Unpickling would run its code.
DECODED: Final = {2: "msgpack", 3: "arrow", 4: "numpy"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How messages are shown."""

    is_raw: bool = False
    is_json: bool = False


def is_message(seen: SeenMessage) -> bool:
    """Whether it is one of the publisher's messages; else it ends the stream."""
    kind, _, _ = _kind_of(seen)
    return kind not in KINDS


def _kind_of(seen: SeenMessage) -> tuple[int, int, int]:
    """Kind, flags and codec id; those of a plain Aeron message are 0 beside its kind."""
    header = _core.decode_header(seen.header)
    if header is None:
        return KIND_PLAIN, 0, 0
    kind, flags, codec_id, _, _ = header
    return kind, flags, codec_id


def line_of(seen: SeenMessage, shown: Shown) -> str:
    """The line, without its end."""
    kind, flags, codec_id = _kind_of(seen)
    is_plain = kind == KIND_PLAIN and not flags & ~FLAGS_KNOWN
    value: Any = seen.payload
    problem = ""
    if is_plain and not shown.is_raw:
        value, problem = _decode(codec_id, seen.payload)
    elif kind == KIND_ERROR:
        value = decode_failure(seen.payload).text
    try:
        return _line(seen, shown, value, problem)
    except Exception as error:  # such as a text of numpy that Python cannot make
        return _line(seen, shown, seen.payload, f"not shown: {error!r}")


def _line(seen: SeenMessage, shown: Shown, value: Any, problem: str) -> str:
    kind, flags, codec_id = _kind_of(seen)
    is_plain = kind == KIND_PLAIN and not flags & ~FLAGS_KNOWN
    if shown.is_json:
        return _json_line(seen, kind, codec_id, value, problem)
    words = [str(seen.session_id), str(seen.position)]
    if not is_plain:
        words.append(f"[{KINDS.get(kind, f'kind {kind}')}]")
    if problem:
        words.append(f"[{problem}]")
    if is_plain or value != b"":
        words.append(_short(value, len(seen.payload)))
    return " ".join(words)


def _decode(codec_id: int, payload: bytes) -> tuple[Any, str]:
    """The object, or the bytes and why they are not decoded."""
    name = DECODED.get(codec_id)
    if name is None:
        return payload, "" if codec_id <= 1 else f"{describe_codec(codec_id)}, not decoded"
    try:
        (value,) = _codec(name).decode_many([payload])
        return (value.to_pylist() if name == "arrow" else value), ""
    except Exception as error:  # whatever a codec raises, and values that Python has not
        return payload, f"{name}, not decoded: {error}"


def _plain(value: Any) -> object:
    """What JSON takes: arrays and tables as lists."""
    for name in ("tolist", "to_pylist"):
        if hasattr(value, name):
            return getattr(value, name)()
    return repr(value)


_codecs: dict[str, Codec[Any]] = {}


def _codec(name: str) -> Codec[Any]:
    if name not in _codecs:
        _codecs[name] = named(name, limits=LIMITS)
    return _codecs[name]


def _short(value: Any, payload_bytes: int) -> str:
    text = repr(value)
    if "\n" in text:  # of arrays and tables; that of a text has none
        text = " ".join(text.split())
    if len(text) <= TEXT_MAX:
        return text
    return f"{text[:TEXT_MAX]}… ({payload_bytes:,} bytes)"


def _json_line(seen: SeenMessage, kind: int, codec_id: int, value: Any, problem: str) -> str:
    line: dict[str, Any] = {
        "time_s": round(seen.time_s, 6),
        "stream_id": seen.stream_id,
        "session_id": seen.session_id,
        "position": seen.position,
        "kind": "message" if kind == KIND_PLAIN else KINDS.get(kind, str(kind)),
        "codec": describe_codec(codec_id),
        "bytes": len(seen.payload),
        "skipped_bytes": seen.skipped_bytes,
    }
    if problem:
        line["problem"] = problem
    if isinstance(value, bytes):
        return json.dumps(line | {"base64": base64.b64encode(value).decode()})
    try:
        import msgspec

        return msgspec.json.encode(line | {"value": value}, enc_hook=_plain).decode()
    except (TypeError, ValueError):  # such as keys that JSON has not
        return json.dumps(line | {"value": repr(value)})
