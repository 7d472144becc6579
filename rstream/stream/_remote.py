"""Errors that cross to another process: what is sent of one, and what is made of it there.

On the wire an error is a line of text for people, a zero byte, and a msgpack array of the error and
what caused it (docs/reference/wire.md). A reader that knows the text alone still has the text.

Nothing is unpickled, imported or called because a peer names it. An error whose class is known
(:func:`rstream.errors.register`, or a builtin) arrives as an instance of a class made here, which
derives from ``RemoteError`` and from the known one: ``except ValueError`` works, and so does
``except RemoteError``. All other errors are plain ``RemoteError``.

The bytes have a limit. Tracebacks and notes are cut first, down to ``DETAIL_MIN`` characters, and
then messages too: the longest ones first, in their middle. The beginning of a traceback says who
called, its end says where it failed.
"""

from __future__ import annotations

import functools
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rstream import _core
from rstream._known_errors import known_class, names_of
from rstream.errors import RemoteError
from rstream.stream._end import cut_text, message_of

if TYPE_CHECKING:
    from collections.abc import Callable

#: Most errors of a chain of causes that are sent.
CHAIN_MAX: Final = 5
NOTES_MAX: Final = 10
#: Most frames of a traceback that are sent, those nearest to the error.
FRAMES_MAX: Final = 40

#: What a traceback or a note keeps, in characters, before a message is cut: its last lines.
DETAIL_MIN: Final = 200

#: Class names nearest first, message, notes, traceback, and what the next error of the chain is to
#: this one: "cause" or "context".
Entry: TypeAlias = tuple[list[str], str, list[str], str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentError:
    """What has arrived of an error.

    Attributes:
        text: one text for people: class name and message.
        entries: the error and its causes; empty: the sender gave a text alone.
    """

    text: str
    entries: list[Entry]


# ---- there: an error becomes bytes ----


def encode_failure(error: BaseException | str, bytes_max: int) -> bytes:
    """The bytes of an error; at most ``bytes_max``."""
    if isinstance(error, str):
        return cut_text(error, bytes_max)
    entries = _chain(error)
    text = _text_of(entries[0])
    while entries:
        data = _fit(text, entries, bytes_max)
        if data is not None:
            return data
        entries.pop()  # the class names alone are too long: leave out the last cause
    return cut_text(text, bytes_max)


def _chain(error: BaseException) -> list[Entry]:
    entries: list[Entry] = []
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen and len(entries) < CHAIN_MAX:
        now = following
        seen.add(id(now))
        following, link = now.__cause__, "cause"
        if following is None and not now.__suppress_context__:
            following, link = now.__context__, "context"
        entries.append((names_of(now), message_of(now), _notes(now), _traceback(now), link))
    return entries


def _notes(error: BaseException) -> list[str]:
    try:
        notes: list[object] = list(getattr(error, "__notes__", ()))
    except TypeError:  # a program may put anything there
        return []
    return [note for note in notes[:NOTES_MAX] if isinstance(note, str)]


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_tb(error.__traceback__, limit=-FRAMES_MAX)).rstrip()
    except Exception:  # of a loader that cannot give its source lines
        return ""


def _fit(text: str, entries: list[Entry], bytes_max: int) -> bytes | None:
    """The longest form that fits, with whole messages if they leave room for ``DETAIL_MIN``."""

    def of_details(limit: int) -> bytes:
        return _pack(text, entries, bytes_max, limit)

    def of_all(limit: int) -> bytes:
        return _pack(text, entries, limit, min(limit, DETAIL_MIN))

    return _longest(of_details, DETAIL_MIN, bytes_max) or _longest(of_all, 0, bytes_max)


def _longest(pack: Callable[[int], bytes], shortest: int, bytes_max: int) -> bytes | None:
    """The bytes for the largest limit whose bytes fit, found by halving; None: not even for
    ``shortest``.
    """
    best: bytes | None = None
    longest = bytes_max
    limit = longest
    while shortest <= longest:
        data = pack(limit)
        if len(data) <= bytes_max:
            best, shortest = data, limit + 1
        else:
            longest = limit - 1
        limit = (shortest + longest) // 2
    return best


def _pack(text: str, entries: list[Entry], message_max: int, detail_max: int) -> bytes:
    """The bytes of an error whose texts have these many characters at most."""
    import msgspec

    def detailed(entry: Entry, message: str) -> Entry:
        names, _, notes, trace, link = entry
        short = [cut_middle(note, detail_max) for note in notes]
        return names, message, short, cut_middle(trace, detail_max), link

    first, *causes = entries
    # The message of the first error is in the text already.
    rows = [detailed(first, "")]
    rows += [detailed(cause, cut_middle(cause[1], message_max)) for cause in causes]
    head = cut_middle(text, message_max).replace("\0", " ")
    return _utf8(head) + b"\0" + msgspec.msgpack.encode([_clean(row) for row in rows])


def cut_middle(text: str, length_max: int) -> str:
    """The text without its middle, if it is longer; two thirds of what is left are its end."""
    if len(text) <= length_max:
        return text
    mark = f" ...[{len(text) - length_max} characters cut]... "
    room = length_max - len(mark)
    if room <= 0:
        return text[:length_max]
    head = room // 3
    return text[:head] + mark + text[len(text) - (room - head) :]


def _utf8(text: str) -> bytes:
    return text.encode(errors="backslashreplace")


def _clean(entry: Entry) -> Entry:
    """The same without lone surrogates, which UTF-8 does not have."""
    names, message, notes, trace, link = entry
    return (
        [_utf8(name).decode() for name in names],
        _utf8(message).decode(),
        [_utf8(note).decode() for note in notes],
        _utf8(trace).decode(),
        link,
    )


# ---- here: bytes become an error ----


def decode_failure(data: bytes) -> SentError:
    """What has arrived, in texts that a terminal may print. Bytes that are no error of rstream are
    a text.
    """
    import msgspec

    head, has_more, packed = data.partition(b"\0")
    entries: list[Entry] = []
    if has_more:
        try:
            entries = msgspec.msgpack.decode(packed, type=list[Entry])[:CHAIN_MAX]
        except Exception:  # foreign bytes: the text is still worth telling
            entries = []
    text = head.decode(errors="replace")
    return SentError(text=_core.printable(text), entries=[_printable(entry) for entry in entries])


def _printable(entry: Entry) -> Entry:
    names, message, notes, trace, link = entry
    return (
        [_core.printable(name) for name in names],
        _core.printable(message),
        [_core.printable(note) for note in notes],
        _core.printable(trace),
        link,
    )


def make_remote(sent: SentError, before: str = "", **place: Any) -> RemoteError:
    """The exception of an error that has arrived.

    Args:
        sent: of :func:`decode_failure`.
        before: stands before its text, such as where it came from.
        place: keywords of ``TransportError``.
    """
    error: RemoteError | None = None
    for entry, link in _from_the_last(sent.entries):
        cause, is_first = error, entry is sent.entries[0]
        text = sent.text if is_first else _text_of(entry)
        error = _make_one(entry, text, before if is_first else "", place)
        if cause is not None and link == "cause":
            error.__cause__ = cause
        elif cause is not None:
            error.__context__ = cause
    return error or RemoteError(before + sent.text, **place)


def _from_the_last(entries: list[Entry]) -> list[tuple[Entry, str]]:
    return [(entry, entry[4]) for entry in reversed(entries)]


def _text_of(entry: Entry) -> str:
    name = _short_name(entry[0])
    return f"{name}: {entry[1]}" if entry[1] else name


def _short_name(names: list[str]) -> str:
    return names[0].rpartition(".")[2] if names else "error"


def _make_one(entry: Entry, text: str, before: str, place: dict[str, Any]) -> RemoteError:
    names, message, notes, trace, _ = entry
    plain = RemoteError(before + text, **place)
    plain.remote_type = names[0] if names else ""
    plain.remote_message = message or text.removeprefix(_short_name(names)).removeprefix(": ")
    plain.remote_notes = tuple(notes[:NOTES_MAX])
    plain.remote_traceback = trace
    for note in plain.remote_notes:
        plain.add_note(note)
    if trace:
        plain.add_note(f"The traceback there (most recent call last):\n{trace}")
    known = known_class(names)
    kind = None if known is None else remote_class(known)
    if kind is not None:
        try:
            return _as_known(kind, plain.args, vars(plain))
        except Exception:  # of a class that forbids it: the error itself must not be lost
            return plain
    return plain


@functools.lru_cache(maxsize=256)
def remote_class(known: type[Exception]) -> type[RemoteError] | None:
    """The class of errors that are both ``RemoteError`` and ``known``; None: there can be none."""

    def reduce(self: RemoteError) -> tuple[Any, ...]:
        return _revive, (known, self.args, vars(self))

    members = {
        "__module__": __name__,
        "__doc__": f"A {known.__name__} of another process.",
        "__reduce__": reduce,
    }
    try:
        return type(f"Remote{known.__name__}", (RemoteError, known), members)
    except TypeError:  # a layout or a metaclass of its own
        return None


def _as_known(kind: type[RemoteError], args: tuple[Any, ...], state: dict[str, Any]) -> RemoteError:
    """An instance without a call of the known class's own ``__new__`` and ``__init__``."""
    base: Any = kind
    while base.__module__ != "builtins":  # the bases of its layout, not of its lookup
        base = base.__base__
    error: RemoteError = base.__new__(kind, *args)
    error.args = args
    vars(error).update(state)
    return error


def _revive(known: type[Exception], args: tuple[Any, ...], state: dict[str, Any]) -> RemoteError:
    """For pickle: a program may pass the error on to its other processes."""
    kind = remote_class(known) or RemoteError
    return _as_known(kind, args, state)
