"""The readers of one publisher of shared work: their reports, and the lanes to them.

A death is known by the end of the reader's stream of reports, or because its lane has no reader any
more, whichever comes first. One thread calls all methods, except :meth:`Readers.wake`.
"""

from __future__ import annotations

import logging
import secrets
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rstream import policy, stream
from rstream.channel import Channel
from rstream.codecs import describe_codec, raw
from rstream.errors import RStreamError
from rstream.stream._inner import inner_publisher, inner_reader
from rstream.work._desk import Seat
from rstream.work._protocol import Report, hello_id, reports_id
from rstream.work._seating import Seating

if TYPE_CHECKING:
    from rstream._condition import Condition
    from rstream.work._desk import Desk
    from rstream.work._seating import LanePublisher

log = logging.getLogger("rstream")

#: Most readers of one publisher; more are refused, and logged.
READERS_MAX = 1024
#: A publisher that does not read its reports for so long holds nobody: the driver lets it go on
#: with the reports of then, and each has the whole state.
STANDSTILL_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The arguments of :func:`rstream.work.publisher`, checked."""

    name: str
    uri: str
    redeliver: bool
    deliveries_max: int | None
    reader_losses_max: int | None
    unacknowledged_max: int
    connect_timeout_s: float | None
    linger_s: float
    dir: str | None


class Readers(Seating):
    """Takes reports, and opens and closes the seats of a desk.

    Args:
        chosen: the publisher's settings.
        codec_id: of its codec.
        desk: who has which message.
        changed: guards the desk.
        title: the publisher, for people.
    """

    def __init__(
        self,
        chosen: Settings,
        codec_id: int,
        desk: Desk[LanePublisher],
        changed: Condition,
        title: str,
    ) -> None:
        super().__init__(desk, changed, title)
        self._chosen = chosen
        self._codec_id = codec_id
        reports = stream.reader(
            chosen.name,
            Report,
            channels=[chosen.uri],
            stream_id=reports_id(chosen.name),
            on_gap="resume",
            evict=policy.Evict(STANDSTILL_S, rejoin=True),
            dir=chosen.dir,
        )
        self._reports = inner_reader(reports, title)
        self._hello: stream.Publisher[bytes] | None = None
        try:
            if chosen.uri.startswith("aeron:ipc"):
                self._hello = self._publisher_to(chosen.uri, hello_id(chosen.name), title)
        except BaseException:
            self._reports.close()
            raise

    def _publisher_to(
        self, channel: Channel | str, stream_id: int, owner: str
    ) -> stream.Publisher[bytes]:
        made = stream.publisher(
            self._chosen.name,
            channel=channel,
            stream_id=stream_id,
            codec=raw(),
            linger_s=0,
            dir=self._chosen.dir,
        )
        return inner_publisher(made, owner)

    def update(self) -> bool:
        """Take the reports that have come, and drop readers that have gone. False: no reports."""
        reports = self._reports.poll(256)
        gone: set[int] = set()
        is_driver_lost = False
        for event in self._reports.events():
            if isinstance(event, stream.Unavailable):
                gone.add(event.session_id)
            elif isinstance(event, stream.SessionChanged):  # the driver died, and all lanes
                gone.update(seat.session for seat in self._desk.seats.values())
                is_driver_lost = True
                log.warning(
                    "%s: %s; it has joined again, and sends again what readers had",
                    self._title,
                    event.reason,
                )
        for report in reports:
            self._take(report, is_driver_lost=is_driver_lost)
        for seat in list(self._desk.seats.values()):
            is_connected = seat.publisher.is_connected
            if seat.session in gone or (seat.was_connected and not is_connected):
                self._drop(seat, is_innocent=is_driver_lost or _has_lost_driver(seat.publisher))
            seat.was_connected = is_connected
        return bool(reports)

    def wait(self, timeout_s: float) -> None:
        """Wait for reports, or the end of a reader."""
        self._reports.wait(timeout_s)

    def wake(self) -> None:
        """End a wait; any thread."""
        with suppress(RStreamError):
            self._reports.wake()

    def close(self) -> None:
        """Say that the work is complete, and leave."""
        for seat in self._desk.seats.values():
            _close_quietly(seat.publisher)
        self._desk.seats.clear()
        if self._hello is not None:
            _close_quietly(self._hello)  # behind the lanes: then readers look at them once more
        _close_quietly(self._reports)

    # ---- one report ----

    def _take(self, report: Report, *, is_driver_lost: bool) -> None:
        if not report.is_valid:
            self._refuse(f"a report of version {report.version} that cannot be used")
            return
        with self._changed:
            seat = self._desk.seats.get(report.reader)
            if seat is not None:
                self._desk.report(seat, report)
        is_new = seat is None or seat.session != report.session
        if seat is not None and (report.is_leaving or is_new):
            # A reader that has joined its driver again reports under a new session.
            is_innocent = is_driver_lost or _has_lost_driver(seat.publisher)
            self._drop(seat, report if report.is_leaving else None, is_innocent=is_innocent)
        if is_new and not report.is_leaving:
            self._add(report)

    def _refuse(self, why: str) -> None:
        if why != self.refusal:
            log.error("%s: a reader was refused: %s", self._title, why)
        self.refusal = why

    def _add(self, report: Report) -> None:
        if report.codec_id != self._codec_id:
            self._refuse(
                f"it reads {describe_codec(report.codec_id)}, and this publisher writes "
                f"{describe_codec(self._codec_id)}: give both the same type or codec"
            )
            return
        if len(self._desk.seats) >= READERS_MAX:
            self._refuse(f"there are {READERS_MAX} readers already")
            return
        channel = Channel.udp(report.endpoint) if report.endpoint else Channel.ipc()
        try:
            owner = f"{self._title}, to {report.title}"
            publisher = self._publisher_to(channel, report.stream_id, owner)
        except RStreamError as error:
            self._refuse(str(error))
            return
        seat: Seat[LanePublisher] = Seat(secrets.randbits(64), publisher, report)
        with self._changed:
            self._desk.add(seat)
            self._desk.report(seat, report)


def _has_lost_driver(lane: LanePublisher) -> bool:
    """Whether the driver of a lane has died: it may say so before the reports do."""
    if not isinstance(lane, stream.Publisher):
        return False
    return not lane.has_session or any(
        isinstance(event, stream.SessionChanged) for event in lane.events()
    )


def _close_quietly(one: LanePublisher | stream.Reader[Any]) -> None:
    try:
        one.close()
    except RStreamError as error:
        log.warning("%r: not closed in good order: %s", one, error)
