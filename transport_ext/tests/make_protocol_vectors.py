"""Writes tests/vectors/{protocol,channel}.h and the corpora of the fuzz targets.

    python3 tests/make_protocol_vectors.py VECTORS.json

Both come from the reference vectors and are committed, so that neither the C tests nor the fuzz
targets need Python; run this again when the vectors change.
"""

from __future__ import annotations

import json
import pathlib
import struct
import sys
from typing import TYPE_CHECKING, Any

from make_vectors import c_int, c_string

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Vectors = dict[str, Any]
HERE = pathlib.Path(__file__).parent
CORPUS = HERE.parent / "fuzz" / "corpus"

FRAME_FIELDS = [
    "frame_length",
    "version",
    "flags",
    "type",
    "term_offset",
    "session_id",
    "stream_id",
    "term_id",
    "reserved_value",
    "initial_term_id",
    "active_term_id",
    "term_length",
    "mtu",
    "ttl",
    "consumption_term_id",
    "consumption_term_offset",
    "receiver_window",
    "receiver_id",
    "group_tag",
    "length",
    "echo_timestamp",
    "reception_delta",
    "error_code",
    "error_length",
    "response_session_id",
]

# Aeron accepts these; rstream does not (docs/reference/aeron/wire.md 22, edge 8).
REFUSED_BY_US = {"sm_small_frame_length"}

# (type, frame_length, term_offset) of the frames that the packet vectors describe in words.
PACKETS: dict[str, Sequence[tuple[int, int, int]]] = {
    "one_frame": [(1, 45, 256)],
    "two_frames": [(1, 45, 256), (1, 100, 320)],
    "second_offset_wrong": [(1, 45, 256), (1, 100, 352)],
    "trailing_zero_block": [(1, 45, 256)],
    "data_longer_than_packet": [(1, 100, 256)],
    "trailing_pad_beyond_packet": [(1, 64, 61376), (0, 4096, 61440)],
    "pad_only": [(0, 4096, 61440)],
    "pad_past_term_end": [(0, 4128, 61440)],
    "data_past_term_end": [(1, 64, 65504)],
    "heartbeat": [(1, 0, 256)],
    "heartbeat_64_bytes": [(1, 0, 256)],
    "negative_length": [(1, -45, 256)],
    "wrong_type": [(2, 45, 256)],
    "second_wrong_type": [(1, 45, 256), (5, 45, 320)],
    "offset_not_aligned": [(1, 45, 257)],
    "offset_at_term_length": [(1, 45, 65536)],
    "offset_negative": [(1, 45, -32)],
    "two_empty_messages": [(1, 32, 0), (1, 32, 32)],
}


def c_hex(text: str) -> Iterable[str]:
    """A string of hex digits, cut into literals that fit a line."""
    parts = [text[at : at + 80] for at in range(0, len(text), 80)] or [""]
    for part in parts:
        yield f'        "{part}"'


def c_bool(value: bool) -> str:
    return "true" if value else "false"


def packet_bytes(frames: Sequence[tuple[int, int, int]], packet_length: int) -> bytes:
    packet = bytearray(packet_length)
    at = 0
    for kind, frame_length, term_offset in frames:
        header = struct.pack(
            "<ibBhiiiiq", frame_length, 0, 0xC0, kind, term_offset, 42, 1001, 100, 0
        )
        packet[at : at + 32] = header
        at += (abs(frame_length) + 31) & ~31
    return bytes(packet)


def frames(vectors: Vectors) -> Iterable[str]:
    yield "typedef struct vector_frame_t {"
    yield "    const char *name;"
    yield "    const char *hex;"
    yield "    bool is_valid;"
    yield "    bool has_fields;"
    for field in FRAME_FIELDS:
        yield f"    int64_t {field};"
    yield "} vector_frame_t;"
    yield ""
    yield "static const vector_frame_t vector_frames[] = {"
    for case in vectors["frames"]:
        yield f"    {{.name = {c_string(case['name'])},"
        yield "        .hex ="
        yield from c_hex(case["hex"])
        yield f"        , .is_valid = {c_bool(case['valid'])},"
        fields = case.get("fields", {})
        for field in FRAME_FIELDS:
            if field in fields:
                yield f"        .{field} = {c_int(fields[field])},"
        yield f"        .has_fields = {c_bool(bool(fields))}}},"
    for case in vectors["frame_validity"]:
        valid = case["valid"] and case["name"] not in REFUSED_BY_US
        data = bytes.fromhex(case["hex"])[: case["packet_length"]]
        yield f"    {{.name = {c_string(case['name'])},"
        yield "        .hex ="
        yield from c_hex(data.hex())
        yield f"        , .is_valid = {c_bool(valid)}}},"
    yield "};"


def packets(vectors: Vectors) -> Iterable[str]:
    yield "typedef struct vector_packet_t {"
    yield "    const char *name;"
    yield "    const char *hex;"
    yield "    int32_t term_length;"
    yield "    int32_t result;"
    yield "} vector_packet_t;"
    yield ""
    yield "/* Without first_offset_mismatch: our function takes the offset from the frame. */"
    yield "static const vector_packet_t vector_packets[] = {"
    for case in vectors["packet_validation"]:
        if case["name"] in PACKETS:
            data = packet_bytes(PACKETS[case["name"]], case["packet_length"])
            yield f"    {{{c_string(case['name'])},"
            yield from c_hex(data.hex())
            yield f"        , {case['term_length']}, {case['result']}}},"
    yield "};"


def windows_and_lengths(vectors: Vectors) -> Iterable[str]:
    yield "typedef struct vector_sm_window_t {"
    yield "    int64_t sm_position;"
    yield "    int64_t snd_position;"
    yield "    int32_t term_length;"
    yield "    bool is_accepted;"
    yield "} vector_sm_window_t;"
    yield ""
    yield "static const vector_sm_window_t vector_sm_windows[] = {"
    for case in vectors["status_message_window"]:
        terms = case["consumption_term_id"] - case["initial_term_id"]
        position = terms * case["term_length"] + case["consumption_term_offset"]
        yield (
            f"    {{{position}, {case['snd_pos']}, {case['term_length']}, "
            f"{c_bool(case['accepted'])}}},"
        )
    yield "};"
    yield ""
    yield "typedef struct vector_length_t {"
    yield "    int32_t given;"
    yield "    int32_t max_payload_length;"
    yield "    int32_t expected;"
    yield "} vector_length_t;"
    yield ""
    yield "static const vector_length_t vector_framed_lengths[] = {"
    for case in vectors["lengths"]:
        if case["name"] == "fragmented_length":
            yield (
                f"    {{{case['message_length']}, {case['max_payload_length']}, "
                f"{case['framed_length']}}},"
            )
    yield "};"
    yield ""
    yield "/* term length, unused, largest message */"
    yield "static const vector_length_t vector_max_message_lengths[] = {"
    for case in vectors["windows"]:
        yield f"    {{{case['term_length']}, 0, {case['max_message_length']}}},"
    yield "};"


def commands(vectors: Vectors) -> Iterable[str]:
    yield "typedef struct vector_command_t {"
    yield "    const char *name;"
    yield "    int32_t type;"
    yield "    const char *hex;"
    yield "} vector_command_t;"
    yield ""
    yield "static const vector_command_t vector_commands[] = {"
    for case in vectors["commands"]:
        yield f"    {{{c_string(case['name'])}, {case['type']},"
        yield from c_hex(case["hex"])
        yield "    },"
    yield "};"


def channels(vectors: Vectors) -> Iterable[str]:
    yield "typedef struct vector_channel_t {"
    yield "    const char *uri;"
    yield "    bool is_accepted;"
    yield "    const char *canonical;"
    yield "    bool is_multicast;"
    yield "    int control_mode;"
    yield "    int64_t tag; /* -1: none */"
    yield "    bool has_explicit_endpoint;"
    yield "    bool has_explicit_control;"
    yield "    int64_t ttl;"
    yield "} vector_channel_t;"
    yield ""
    yield "static const vector_channel_t vector_channels[] = {"
    for case in vectors["channels"]:
        if not case["ok"]:
            yield f"    {{.uri = {c_string(case['uri'])}, .is_accepted = false}},"
            continue
        yield f"    {{.uri = {c_string(case['uri'])},"
        yield "        .is_accepted = true,"
        yield f"        .canonical = {c_string(case['canonical'])},"
        for field in ("is_multicast", "has_explicit_endpoint", "has_explicit_control"):
            yield f"        .{field} = {c_bool(case[field])},"
        for field in ("control_mode", "tag"):
            yield f"        .{field} = {case[field]},"
        yield f"        .ttl = {case['ttl']}}},"
    yield "};"


def write_header(name: str, bodies: Sequence[Iterable[str]]) -> None:
    guard = f"RSTI_TESTS_VECTORS_{name.upper()}_H"
    lines = [
        f"/* {name}.h: reference vectors as C tables. Made by tests/make_protocol_vectors.py. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stdbool.h>",
        "#include <stdint.h>",
    ]
    for body in bodies:
        lines += ["", *body]
    lines += ["", "#endif"]
    path = HERE / "vectors" / f"{name}.h"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_corpus(target: str, name: str, data: bytes) -> None:
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def write_frame_corpus(vectors: Vectors) -> None:
    for section in ("frames", "frame_validity"):
        for case in vectors[section]:
            write_corpus("frame", case["name"], bytes.fromhex(case["hex"]))
    for case in vectors["packet_validation"]:
        if case["name"] in PACKETS:
            data = packet_bytes(PACKETS[case["name"]], case["packet_length"])
            write_corpus("frame", f"packet_{case['name']}", data)


def write_command_corpus(vectors: Vectors) -> None:
    # The target reads the message's type from the first four bytes.
    for case in vectors["commands"]:
        data = struct.pack("<i", case["type"]) + bytes.fromhex(case["hex"])
        write_corpus("command", case["name"], data)


def write_uri_corpus(vectors: Vectors) -> None:
    for case in vectors["channels"]:
        write_corpus("uri", case["name"], case["uri"].encode())
    # Every key once, so that mutation reaches every value parser.
    text = (
        "aeron-spy:aeron:udp?endpoint=[::1]:40456|interface=127.0.0.0/24|control=127.0.0.1:0|"
        "control-mode=dynamic|ttl=9|session-id=-7|stream-id=1|mtu=8k|term-length=64k|"
        "init-term-id=2147483647|term-id=-2147483648|term-offset=64|linger=5s|reliable=false|"
        "sparse=true|eos=false|tether=true|rejoin=false|ssc=true|group=infer|"
        "fc=min,g:/3,t:10s,rrwm:2|gtag=-100|cc=static|tags=12,13|alias=a=b|so-sndbuf=1m|"
        "so-rcvbuf=2m|rcv-wnd=256k|pub-wnd=32k|nak-delay=1us|max-resend=16|"
        "untethered-window-limit-timeout=5s|untethered-linger-timeout=1ms|"
        "untethered-resting-timeout=10s|response-correlation-id=prototype|ats=false|"
        "rs-name=ticks|rs-rate=fixed,r:200m|x=y"
    )
    write_corpus("uri", "every_key", text.encode())
    write_corpus("uri", "ipc", b"aeron:ipc?term-length=64k|session-id=tag:7|pub-wnd=1408")


def write_items_corpus() -> None:
    def tail(*items: tuple[int, bytes]) -> bytes:
        body = b"".join(bytes((kind, len(value))) + value for kind, value in items)
        return (bytes((1, len(items))) + struct.pack("<H", len(body)) + body).ljust(16, b"\0")

    write_corpus("sm_items", "none", tail())
    write_corpus("sm_items", "tag_present", tail((1, b"\1")))
    write_corpus("sm_items", "demand_and_round_trip", tail((3, bytes(8)), (5, b"\xff" * 8)))
    write_corpus("sm_items", "unknown", tail((200, b""), (201, bytes(100))))


def main(path: str) -> None:
    vectors = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    write_header(
        "protocol",
        [frames(vectors), packets(vectors), windows_and_lengths(vectors), commands(vectors)],
    )
    write_header("channel", [channels(vectors)])
    write_frame_corpus(vectors)
    write_command_corpus(vectors)
    write_uri_corpus(vectors)
    write_items_corpus()


if __name__ == "__main__":
    main(sys.argv[1])
