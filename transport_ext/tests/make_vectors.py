"""Writes tests/vectors/<name>.h from the reference vectors (a JSON file).

    python3 tests/make_vectors.py VECTORS.json

One function per header, registered with @header("name"); it gets the whole JSON document and
returns the lines of the header's body. The headers are committed, so that the C tests need no
Python; run this again when the vectors change.
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

Vectors = dict[str, Any]
Body = Callable[[Vectors], Iterable[str]]
HEADERS: dict[str, Body] = {}


def header(name: str) -> Callable[[Body], Body]:
    def register(body: Body) -> Body:
        HEADERS[name] = body
        return body

    return register


def c_string(text: str) -> str:
    """A C string literal; JSON's escapes are C's for what the vectors hold."""
    return json.dumps(text)


def c_int(value: int) -> str:
    """An int64 literal; the smallest one cannot be written as a number."""
    return "INT64_MIN" if value == -(2**63) else f"INT64_C({value})"


def c_bytes(name: str, hex_text: str) -> Iterable[str]:
    """A byte array and, by sizeof, its length."""
    data = bytes.fromhex(hex_text)
    yield f"static const uint8_t {name}[{len(data)}] = {{"
    for start in range(0, len(data), 12):
        yield "    " + ", ".join(f"0x{byte:02x}" for byte in data[start : start + 12]) + ","
    yield "};"


def by_name(section: list[Vectors], name: str) -> Vectors:
    return next(case for case in section if case["name"] == name)


@header("parse")
def parse(vectors: Vectors) -> Iterable[str]:
    yield "typedef struct vector_number_t {"
    yield "    const char *text;"
    yield "    bool is_accepted;"
    yield "    int64_t value;"
    yield "} vector_number_t;"
    for section, field in (("sizes", "value"), ("durations", "value_ns")):
        yield ""
        yield f"static const vector_number_t vector_{section}[] = {{"
        for case in vectors[section]:
            value = case[field]
            if "should be refused" in case.get("note", ""):
                value = None
            accepted = "true" if value is not None else "false"
            yield f"    {{{c_string(case['text'])}, {accepted}, {c_int(value or 0)}}},"
        yield "};"


@header("ring_and_broadcast")
def ring_and_broadcast(vectors: Vectors) -> Iterable[str]:
    section = vectors["ring_and_broadcast"]
    for name, fields in (
        ("mpsc_two_writes", ("buffer_first_48",)),
        ("mpsc_wrap_with_padding", ("at_1008", "at_0")),
        ("mpsc_unblock_claimed", ("first_40",)),
        ("mpsc_unblock_zero_gap_at_64", ("at_64", "at_96")),
        ("broadcast_first", ("buffer_first_16",)),
        ("broadcast_wrap", ("at_1008", "at_0")),
    ):
        for field in fields:
            yield from c_bytes(f"vector_{name}_{field}", by_name(section, name)[field])


@header("counters")
def counters(vectors: Vectors) -> Iterable[str]:
    case = by_name(vectors["counters"], "client_heartbeat_counter")
    for field in ("value_record_first_32", "metadata_first_24", "metadata_from_128_len_27"):
        yield from c_bytes(f"vector_{field}", case[field])


@header("logs")
def logs(vectors: Vectors) -> Iterable[str]:
    for name, field in (("error_log", "first_80"), ("loss_report", "first_128")):
        yield from c_bytes(f"vector_{name}_{field}", by_name(vectors["logs"], name)[field])


# Structs that C code maps onto memory or datagrams. Those of commands and responses are written by
# functions, whose bytes are in the section "commands". The names of their fields here, where they
# differ:
MAPPED = {
    "frame_header": {},
    "data_header": {},
    "setup_header": {},
    "nak_header": {},
    "status_message_header": {},
    "error_header": {"frame_header": "frame"},
    "rttm_header": {},
    "response_setup_header": {},
    "rb_descriptor": {"consumer_heartbeat": "consumer_heartbeat_ms"},
    "broadcast_descriptor": {
        "tail_intent_counter": "tail_intent",
        "tail_counter": "tail",
        "latest_counter": "latest",
    },
    "counter_value_descriptor": {"counter_value": "value"},
    "counter_metadata_descriptor": {},
    "loss_reporter_entry": {
        "total_bytes_lost": "bytes_lost",
        "first_observation_timestamp": "first_ms",
        "last_observation_timestamp": "last_ms",
    },
    "cnc_metadata": {
        "client_liveness_timeout": "client_liveness_timeout_ns",
        "start_timestamp": "start_timestamp_ms",
    },
}


@header("layouts")
def layouts(vectors: Vectors) -> Iterable[str]:
    """One X(field, offset, size) per field of each struct."""
    for case in vectors["struct_offsets"]:
        words = MAPPED.get(case["struct"])
        if words is None:
            continue
        yield f"#define VECTOR_{case['struct'].upper()}_SIZE {case['size']}"
        yield f"#define VECTOR_{case['struct'].upper()}(X) \\"
        names = {
            field: words.get(field, field.replace("_buffer_length", "_length"))
            for field in case["fields"]
        }
        rows = [f"    X({names[f]}, {at}, {size})" for f, (at, size) in case["fields"].items()]
        yield from " \\\n".join(rows).split("\n")


def main(path: str) -> None:
    vectors = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    folder = pathlib.Path(__file__).parent / "vectors"
    folder.mkdir(exist_ok=True)
    for name, body in HEADERS.items():
        guard = f"RSTI_TESTS_VECTORS_{name.upper()}_H"
        lines = [
            f"/* {name}.h: reference vectors as C tables. Made by tests/make_vectors.py. */",
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            "#include <stdbool.h>",
            "#include <stdint.h>",
            "",
            *body(vectors),
            "",
            "#endif",
        ]
        (folder / f"{name}.h").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
