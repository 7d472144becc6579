"""Writes tests/vectors/{logbuffer,flow,loss}.h from the reference vectors.

    python3 tests/make_logbuffer_vectors.py VECTORS.json

The headers are committed, so that the C tests need no Python; run this again when the vectors
change.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from make_vectors import c_int, c_string

Vectors = dict[str, Any]
Lines = Iterable[str]
FRAMES_MAX = 3

FRAME_TYPE = """\
typedef struct vector_frame_t {
    int16_t type;
    int32_t length;
    int32_t offset;
} vector_frame_t;
#define VECTOR_FRAMES_MAX 3"""


def c_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return c_string(value)
    return str(value) if abs(value) < 2**31 else c_int(value)


def table(name: str, fields: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]) -> Lines:
    """A struct type vector_<name>_t and an array vector_<name>[] of it."""
    yield ""
    yield f"typedef struct vector_{name}_t {{"
    for kind, field in fields:
        yield f"    {kind}{'' if kind.endswith('*') else ' '}{field};"
    yield f"}} vector_{name}_t;"
    yield f"static const vector_{name}_t vector_{name}[] = {{"
    for row in rows:
        values = [
            value if field.endswith("]") else c_value(value)
            for value, (_, field) in zip(row, fields, strict=True)
        ]
        yield f"    {{{', '.join(values)}}},"
    yield "};"


def simple(name: str, cases: Iterable[Vectors], fields: Sequence[tuple[str, str]]) -> Lines:
    return table(name, fields, [[case.get(field, 0) for _, field in fields] for case in cases])


def c_frames(text: str) -> str:
    """`DATA 45 @0, PAD 96 @64, negative length @160`, or `contiguous to N` (frames of 128)."""
    frames: list[tuple[int, int, int]] = []
    contiguous = re.search(r"contiguous to (\d+)", text)
    if contiguous:
        frames = [(1, 128, offset) for offset in range(0, int(contiguous[1]), 128)]
    for kind, length, offset in re.findall(r"(DATA|PAD) (\d+) @(\d+)", text):
        frames.append((int(kind == "DATA"), int(length), int(offset)))
    for offset in re.findall(r"negative length @(\d+)", text):
        frames.append((1, -64, int(offset)))
    if len(frames) > FRAMES_MAX or (not frames and text != "none"):
        raise ValueError(f"frames not understood: {text}")
    return "{" + ", ".join(f"{{{t}, {n}, {o}}}" for t, n, o in frames or [(0, 0, 0)]) + "}"


def positions(vectors: Vectors) -> Lines:
    fields = [
        ("int32_t", field)
        for field in (
            "initial_term_id",
            "term_id",
            "term_offset",
            "term_length",
            "position_bits_to_shift",
        )
    ]
    fields += [("int64_t", "position"), ("int32_t", "term_count"), ("int32_t", "partition_index")]
    fields += [("int32_t", "term_id_from_position"), ("int32_t", "term_offset_from_position")]
    return simple("positions", vectors["positions"], fields)


def tails(vectors: Vectors) -> Lines:
    def three(values: Sequence[int]) -> str:
        return "{" + ", ".join(c_int(value) for value in values) + "}"

    cases = vectors["tails"]
    yield from table(
        "initial_tails",
        [("int32_t", "initial_term_id"), ("int64_t", "tails[3]")],
        [(c["initial_term_id"], three(c["tails"])) for c in cases if c["name"] == "initial_tails"],
    )
    yield from simple(
        "decode_tail",
        [case for case in cases if case["name"] == "decode_tail"],
        [
            ("int64_t", "raw_tail"),
            ("int32_t", "term_length"),
            ("int32_t", "term_id"),
            ("int32_t", "term_offset_clamped"),
        ],
    )
    first = next(case for case in cases if case["name"] == "rotate_log_first")
    again = next(case for case in cases if case["name"] == "rotate_log_again_noop")
    count, term_id = first["current_term_count"], first["current_term_id"]
    yield from table(
        "rotate",
        [
            ("int64_t", "before[3]"),
            ("int32_t", "count"),
            ("int32_t", "term_id"),
            ("int64_t", "after[3]"),
            ("int32_t", "count_after"),
            ("bool", "result"),
        ],
        [
            (
                three(before),
                count,
                term_id,
                three(case["after_tails"]),
                case["active_term_count"],
                case["result"],
            )
            for before, case in ((first["before_tails"], first), (first["after_tails"], again))
        ],
    )


def lengths(vectors: Vectors) -> Lines:
    cases = vectors["lengths"]
    yield from simple(
        "log_length",
        [case for case in cases if case["name"] == "log_length"],
        [("int32_t", "term_length"), ("int32_t", "page_size"), ("int64_t", "file_length")],
    )
    yield from simple(
        "fragmented_length",
        [case for case in cases if case["name"] == "fragmented_length"],
        [
            ("int32_t", "message_length"),
            ("int32_t", "max_payload_length"),
            ("int32_t", "framed_length"),
        ],
    )


def windows(vectors: Vectors) -> Lines:
    return simple(
        "windows",
        vectors["windows"],
        [
            ("int32_t", field)
            for field in (
                "configured",
                "term_length",
                "receiver_window",
                "producer_window",
                "max_message_length",
            )
        ],
    )


def scanners(vectors: Vectors) -> Lines:
    yield ""
    yield FRAME_TYPE
    yield from table(
        "term_scanner",
        [
            ("const char *", "name"),
            ("vector_frame_t", "frames[VECTOR_FRAMES_MAX]"),
            ("int32_t", "offset"),
            ("int32_t", "max_length"),
            ("int32_t", "available"),
            ("int32_t", "padding"),
        ],
        [
            (
                c["name"],
                c_frames(c["frames"]),
                c["offset"],
                c["max_length"],
                c["available"],
                c["padding"],
            )
            for c in vectors["term_scanner"]
        ],
    )
    yield from table(
        "gap_scanner",
        [
            ("const char *", "name"),
            ("vector_frame_t", "frames[VECTOR_FRAMES_MAX]"),
            ("int32_t", "from"),
            ("int32_t", "limit"),
            ("int32_t", "returned_offset"),
            ("bool", "gap"),
            ("int32_t", "gap_offset"),
            ("int32_t", "gap_length"),
        ],
        [
            (
                c["name"],
                c_frames(c["frames"]),
                c["from"],
                c["limit"],
                c["returned_offset"],
                c["gap"],
                c.get("gap_offset", 0),
                c.get("gap_length", 0),
            )
            for c in vectors["gap_scanner"]
        ],
    )


# The content of the term before; the vectors give it by their names only.
UNBLOCKER_FRAMES = {
    "claimed_negative": "{{1, -128, 0}}",
    "zero_then_complete": "{{1, 64, 128}}",
    "zero_to_tail_no_action": "{{0, 0, 0}}",
    "zero_to_end_of_term": "{{0, 0, 0}}",
    "complete_no_action": "{{1, 128, 0}}",
}


def unblocker(vectors: Vectors) -> Lines:
    names = (
        "blocked_offset",
        "tail_offset",
        "status",
        "frame_length_after",
        "type_after",
        "term_offset_after",
        "term_id_after",
    )
    return table(
        "term_unblocker",
        [
            ("const char *", "name"),
            ("vector_frame_t", "frames[VECTOR_FRAMES_MAX]"),
            *(("int32_t", field) for field in names),
        ],
        [
            (c["name"], UNBLOCKER_FRAMES[c["name"]], *(c[field] for field in names))
            for c in vectors["term_unblocker"]
        ],
    )


def metadata(vectors: Vectors) -> Lines:
    fields = next(c for c in vectors["struct_offsets"] if c["struct"] == "logbuffer_metadata")[
        "fields"
    ]
    yield ""
    yield "#define VECTOR_LOG_METADATA(X) \\"
    rows = [f"    X({field}, {offset}, {size})" for field, (offset, size) in fields.items()]
    yield from (" \\\n".join(rows)).split("\n")


def flow_control(vectors: Vectors) -> Lines:
    """One row per event; a row whose name differs from the one before begins a new publication."""
    events = [
        (
            case["name"],
            fc[1] if fc else "",
            "endpoint=224." in case["channel"],
            event["on"],
            event["now_ns"],
            event.get("receiver_id", 0),
            event.get("position", 0),
            event.get("window", 0),
            event.get("eos", False),
            "group_tag" in event,
            event.get("group_tag", 0),
            event.get("snd_lmt_in", 0),
            "snd_lmt_out" in event,
            event.get("snd_lmt_out", 0),
            event["has_required_receivers"],
        )
        for case in vectors["flow_control"]
        for fc in [re.search(r"fc=([^|]*)", case["channel"])]
        for event in case.get("events", [])
    ]
    yield from table(
        "flow_control",
        [
            ("const char *", "name"),
            ("const char *", "fc"),
            ("bool", "is_group"),
            ("const char *", "on"),
            ("int64_t", "now_ns"),
            ("int64_t", "receiver_id"),
            ("int64_t", "position"),
            ("int32_t", "window"),
            ("bool", "is_eos"),
            ("bool", "has_tag"),
            ("int64_t", "tag"),
            ("int64_t", "limit_in"),
            ("bool", "has_limit_out"),
            ("int64_t", "limit_out"),
            ("bool", "has_required_receivers"),
        ],
        events,
    )


def flow_options(vectors: Vectors) -> Lines:
    rows = []
    for case in vectors["flow_control_options"]:
        ok = case["ok"] and "should be refused" not in case.get("note", "")
        present = [case.get(f) is not None for f in ("group_tag", "group_min_size", "timeout_ns")]
        rows.append(
            (
                case["options"],
                ok,
                case.get("strategy") or "",
                *present,
                case.get("group_tag") or 0,
                case.get("group_min_size") or 0,
                case.get("timeout_ns") or 0,
                case.get("rrwm") or 0,
            )
        )
    return table(
        "flow_options",
        [
            ("const char *", "text"),
            ("bool", "is_accepted"),
            ("const char *", "strategy"),
            ("bool", "has_tag"),
            ("bool", "has_min_size"),
            ("bool", "has_timeout"),
            ("int64_t", "tag"),
            ("int32_t", "min_size"),
            ("int64_t", "timeout_ns"),
            ("int32_t", "multiple"),
        ],
        rows,
    )


def congestion(vectors: Vectors) -> Lines:
    """Rows of one name are in time order; the windows of TCP mode are not part of the contract."""
    rows = []
    for case in vectors["congestion_control"]:
        if "steps" not in case:
            continue
        size = re.search(r"rcv-wnd=(\d+)k", case["channel"])
        law = re.search(r"cc=(\w+)", case["channel"])
        configured = int(size[1]) * 1024 if size else 131072
        rows += [
            (
                case["name"],
                law[1] if law else "",
                case["tcp_mode"],
                configured,
                case["term_length"],
                case["mtu"],
                case["created_at_ns"],
                case["initial_window"],
                case["max_window"],
                step["now_ns"],
                step["loss"],
                step["window"],
                step["force_sm"],
            )
            for step in case["steps"]
        ]
    return table(
        "congestion",
        [
            ("const char *", "name"),
            ("const char *", "cc"),
            ("bool", "is_tcp_mode"),
            ("int32_t", "configured"),
            ("int32_t", "term_length"),
            ("int32_t", "mtu"),
            ("int64_t", "created_ns"),
            ("int32_t", "initial_window"),
            ("int32_t", "max_window"),
            ("int64_t", "now_ns"),
            ("bool", "is_loss"),
            ("int32_t", "window"),
            ("bool", "force_sm"),
        ],
        rows,
    )


def loss_detector(vectors: Vectors) -> Lines:
    timeline, delay = vectors["loss_detector"]
    for name in ("initial_term_id", "delay_ns", "retry_ns"):
        yield f"#define VECTOR_LOSS_{name.upper()} {timeline[name]}"
    rows = []
    for step in timeline["steps"]:
        nak = step["nak"]
        rows.append(
            (
                step["now_ns"],
                step["frame_arrived_at"],
                step["rebuild_position"],
                step["hwm_position"],
                step["loss_found"],
                step["new_rebuild_offset"],
                nak is not None,
                *((nak or {}).get(field, 0) for field in ("term_id", "term_offset", "length")),
            )
        )
    yield from table(
        "loss_timeline",
        [
            ("int64_t", "now_ns"),
            ("int32_t", "frame_arrived_at"),
            ("int64_t", "rebuild_position"),
            ("int64_t", "hwm_position"),
            ("bool", "loss_found"),
            ("int32_t", "new_rebuild_offset"),
            ("bool", "has_nak"),
            ("int32_t", "nak_term_id"),
            ("int32_t", "nak_term_offset"),
            ("int32_t", "nak_length"),
        ],
        rows,
    )
    yield ""
    for name in ("group_size", "max_backoff_ns", "rand_max", "base_x", "constant_t", "factor_t"):
        yield f"#define VECTOR_GROUP_{name.upper()} {float(delay[name])!r}"


def retransmit(vectors: Vectors) -> Lines:
    rows = []
    for case in vectors["retransmit"]:
        for event in case["events"]:
            resend = event["resend"][0] if event["resend"] else {}
            rows.append(
                (
                    case["name"],
                    case["has_group_semantics"],
                    case["max_resend"],
                    case["delay_ns"],
                    case["linger_ns"],
                    event["on"] == "nak",
                    event["now_ns"],
                    event.get("term_id", 0),
                    event.get("term_offset", 0),
                    event.get("length", 0),
                    bool(resend),
                    resend.get("term_offset", 0),
                    resend.get("length", 0),
                    event["active"],
                    event["invalid_packets"],
                    event["overflow"],
                )
            )
    return table(
        "retransmit",
        [
            ("const char *", "name"),
            ("bool", "is_group"),
            ("int32_t", "max_resend"),
            ("int64_t", "delay_ns"),
            ("int64_t", "linger_ns"),
            ("bool", "is_nak"),
            ("int64_t", "now_ns"),
            ("int32_t", "term_id"),
            ("int32_t", "term_offset"),
            ("int32_t", "length"),
            ("bool", "is_resent"),
            ("int32_t", "resent_offset"),
            ("int32_t", "resent_length"),
            ("int32_t", "active"),
            ("int32_t", "invalid_packets"),
            ("int32_t", "overflow"),
        ],
        rows,
    )


SECTIONS = {
    "logbuffer": (positions, tails, lengths, windows, scanners, unblocker, metadata),
    "flow": (flow_control, flow_options, congestion),
    "loss": (loss_detector, retransmit),
}


def main(path: str) -> None:
    vectors = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    folder = pathlib.Path(__file__).parent / "vectors"
    for name, sections in SECTIONS.items():
        guard = f"RSTI_TESTS_VECTORS_{name.upper()}_H"
        lines = [
            f"/* {name}.h: reference vectors as C tables."
            " Made by tests/make_logbuffer_vectors.py. */",
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            "#include <stdbool.h>",
            "#include <stdint.h>",
            "",
        ]
        for section in sections:
            lines += section(vectors)
        text = "\n".join([*lines, "", "#endif"]) + "\n"
        (folder / f"{name}.h").write_text(re.sub(r"\n{3,}", "\n\n", text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
