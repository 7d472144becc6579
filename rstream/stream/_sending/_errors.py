"""The errors of sending: what it waited for, in vain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from rstream._channel_uri import ChannelUri
from rstream._held_by import HeldBy
from rstream.errors import BackPressured, MessageTooLarge, NotConnected, StorageError

if TYPE_CHECKING:
    from rstream.stream._sending._readers import KnownReaders
    from rstream.stream._sending._session import SendSession

__all__ = ("SendErrors",)

#: What to do about readers that are slow.
SLOW_HINT: Final = (
    "they are slower than this publisher, or stand still: look with `rstream why`, raise "
    "timeout_s, or open them with on_slow="
)
#: What BackPressured says more, and its hint.
HELD_TEXTS: Final = {
    HeldBy.WINDOW: ("", SLOW_HINT),
    HeldBy.DEMAND: (
        ", and one has requested no more",
        "it must call request(n), or finish what it has taken",
    ),
    HeldBy.PATH: (
        ", and the path takes no more now",
        "the link is slower than this publisher: send less, or raise timeout_s",
    ),
    HeldBy.BUDGET: (
        ", and as much is under way as their driver grants this host",
        SLOW_HINT,
    ),
}


@final
class SendErrors:
    """Makes the errors of one publisher, with what holds it at this moment."""

    def __init__(self, session: SendSession, readers: KnownReaders) -> None:
        self._session = session
        self._readers = readers

    def _where(self) -> str:
        return self._session.settings.where()

    @property
    def is_rate_limited(self) -> bool:
        """Whether its own rate holds the publisher back, and not its readers."""
        session = self._session
        return session.is_over_rate() or (
            not session.is_closed and HeldBy.from_core(session.core.held_by) is HeldBy.RATE
        )

    def alone(self, waited_s: float) -> NotConnected:
        """No reader was there for so long."""
        session, settings = self._session, self._session.settings
        missing = "no subscriber"
        hint = (
            f"start the reader with the same driver directory ({session.link.directory}) and the "
            "same name; over UDP the endpoint is the reader's address; `rstream stat` lists the "
            "readers"
        )
        if why := settings.why_gone():
            missing = f"{missing} any more: {why}; it was away"
            hint = "open another reader, and give its handle to the writers"
        if session.is_gated:
            missing = f"{session.reader_count()} of {settings.wait_for} subscribers"
        elif (wanted := ChannelUri.parse(settings.channel).group_size) > 1 and (
            count := session.reader_count()
        ):
            missing = f"{count} of {wanted} receivers of its group"
            hint = (
                "the channel's fc= says how many receivers it waits for; readers of one driver at "
                "one address are one receiver"
            )
        return NotConnected(
            f"{self._where()}: {missing} for {waited_s:.1f} s"
            f"{self._readers.why_alone()}{self._last_seen()}",
            hint=hint,
            **session.place(),
        )

    def _last_seen(self) -> str:
        reached = self._session.state.reached
        if reached == 0:
            return ""
        consumed, gap = self._readers.losses.consumed, self._readers.losses.last_gap
        if gap is not None and (gap.session_id, gap.to_position) == (
            self._session.core.session_id,
            consumed,
        ):
            consumed = gap.from_position
        return f"; the last reader had consumed up to {consumed} of {reached}"

    def late(self, waited_s: float) -> BackPressured | StorageError | NotConnected:
        """A message was not sent in time: no room, or no reader."""
        return self.held() if self._session.has_readers() else self.alone(waited_s)

    def too_large(self, length_bytes: int, most_bytes: int | None = None) -> MessageTooLarge:
        """A message is longer than the publisher may send, or than so many bytes."""
        if self._session.settings.name:
            hint = "give the publisher and its readers a larger max_message_length, or cut it"
        else:
            hint = (
                "a stream without a name takes an eighth of its term, and 16 MiB at most: raise "
                "term-length, or give the stream a name, so that long messages travel in parts"
            )
        return MessageTooLarge(
            f"{self._where()}: a message of {length_bytes} bytes; at most "
            f"{most_bytes or self._session.max_message_length} fit",
            hint=hint,
            **self._session.place(),
        )

    def over_rate(self) -> BackPressured:
        """Its rate left no room in time."""
        session = self._session
        is_own = session.is_closed or session.is_over_rate()
        reader = None if is_own else self._readers.slowest(is_report=True)
        why, hint = "", "send less, wait longer, or give it another rate (set_rate)"
        if reader is not None:
            why = f": it follows what {reader.name} takes"
            hint = "make that reader faster (`rstream why`), send less, or wait longer"
        error = BackPressured(
            f"{self._where()}: its rate left no room in time{why}", hint=hint, **session.place()
        )
        error.held_by = HeldBy.RATE
        return error

    def _storage(self, needed: int, usable: int) -> StorageError:
        directory, position = self._session.link.directory, self._session.core.position
        if usable < 0:
            return StorageError(
                f"{self._where()}: no room: its log stands at position {position}, and "
                f"the driver in {directory} could not open it to make room",
                hint="`rstream errors` says why; too many open files: raise the driver's limit "
                "(ulimit -n, LimitNOFILE=)",
            )
        error = StorageError(
            f"{self._where()}: no room: its log stands at position {position}, the next "
            f"term needs {needed} bytes, and {usable} are usable in {directory}: "
            f"{needed - usable} bytes are missing",
            hint="enlarge that file system (Docker: --shm-size), use smaller terms (term-length) "
            "or fewer streams, or choose another driver directory (RSTREAM_DIR)",
        )
        error.needed, error.missing = needed, max(0, needed - usable)
        return error

    def held(self) -> BackPressured | StorageError:
        """There was no room in time; ``held_by`` names the cause."""
        core = self._session.core
        if self.is_rate_limited:
            return self.over_rate()
        needed, usable = core.storage
        if needed > 0:
            return self._storage(needed, usable)
        held_by = self._readers.held_by()
        more, hint = HELD_TEXTS.get(held_by, HELD_TEXTS[HeldBy.WINDOW])
        reader = self._readers.slowest()
        whose = "" if reader is None else f"; the slowest reader is {reader.name}"
        error = BackPressured(
            f"{self._where()}: no room; the readers have consumed up to "
            f"{core.consumed_position} of {core.position}, "
            f"{core.unread_bytes} bytes are unread{more}{whose}",
            hint=hint,
            **self._session.place(),
        )
        error.held_by = held_by
        return error
