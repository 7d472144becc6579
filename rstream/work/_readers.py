"""The readers of one publisher of shared work: their reports, and the lanes to them.

A death is known by the end of the reader's stream of reports, or because its lane has no reader any
more, whichever comes first. One thread calls all methods, except :meth:`ReportedReaders.wake`.
"""

from __future__ import annotations

import logging
import secrets
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Any

from rstream import policy, stream
from rstream.channel import Channel
from rstream.codecs import describe_codec, raw
from rstream.driver import resolve_dir
from rstream.errors import NotConnected, RStreamError
from rstream.stream._internal import inner_publisher, inner_reader
from rstream.work._desk import ReaderSeat
from rstream.work._protocol import REPORT_BYTES_MAX, ReaderReport, hello_id, reports_id
from rstream.work._seating import Seating

if TYPE_CHECKING:
    from rstream._condition import Condition
    from rstream.stream._internal import StreamReading
    from rstream.work._desk import WorkDesk
    from rstream.work._seating import LanePublisher
    from rstream.work._settings import GivingSettings

log = logging.getLogger("rstream")

#: Most readers of one publisher; more are refused, and logged.
READERS_MAX = 1024
#: A publisher that does not read its reports for so long holds nobody: the driver lets it go on
#: with the reports of then, and each has the whole state.
STANDSTILL_S = 2.0


class ReportedReaders(Seating):
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
        chosen: GivingSettings,
        codec_id: int,
        desk: WorkDesk[LanePublisher],
        changed: Condition,
        title: str,
    ) -> None:
        super().__init__(desk, changed, title)
        self._chosen = chosen
        self._codec_id = codec_id
        reports = stream.reader(
            chosen.name,
            ReaderReport,
            channels=[chosen.uri],
            stream_id=reports_id(chosen.name),
            on_gap="resume",
            max_message_length=REPORT_BYTES_MAX,
            evict=policy.Evict(STANDSTILL_S, rejoin=True),
            dir=chosen.dir,
        )
        self._reports = inner_reader(reports, title)
        self._sources: dict[int, str] = {}  # by session: where its reports come from
        self._reader_of: dict[int, int] = {}  # by session: the one reader that it reports for
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
        reports = self._reports.poll_held(256)
        sessions = [session_id for session_id, _ in self._reports.held_places()]
        gone: set[int] = set()
        is_driver_lost = False
        for event in self._reports.events():
            if isinstance(event, stream.Available):
                self._sources[event.session_id] = event.source
            elif isinstance(event, stream.Unavailable):
                gone.add(event.session_id)
            elif isinstance(event, stream.SessionChanged):  # the driver died, and all lanes
                gone.update(seat.session for seat in self._desk.seats.values())
                is_driver_lost = True
                log.warning(
                    "%s: %s; it has joined again, and sends again what readers had",
                    self._title,
                    event.reason,
                )
        for session_id, report in zip(sessions, reports, strict=True):
            self._take(session_id, report, is_driver_lost=is_driver_lost)
        for session_id in gone:
            self._sources.pop(session_id, None)
            self._reader_of.pop(session_id, None)
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

    def alone_error(self, waited_s: float, why: str) -> NotConnected:
        chosen = self._chosen
        return NotConnected(
            f"{self._title}: no reader for {waited_s:g} s{why}",
            hint=f'open one: rstream.work.subscriber("{chosen.name}"), with the same channel and '
            f"driver directory ({resolve_dir(chosen.dir)})",
            channel=chosen.uri,
        )

    # ---- one report ----

    def _take(self, session_id: int, report: ReaderReport, *, is_driver_lost: bool) -> None:
        why = self._why_not(session_id, report)
        if why:
            self._refuse(why)
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

    def _why_not(self, session_id: int, report: ReaderReport) -> str:
        """Why a report is not believed; empty: it is.

        Any host can send one. It may make this publisher send to the address from which it came,
        and to no other.
        """
        if not report.is_valid:
            return f"a report of version {report.version} that cannot be used"
        if report.session != session_id:
            return f"session {session_id} reports as session {report.session}"
        if self._reader_of.setdefault(session_id, report.reader) != report.reader:
            return f"session {session_id} reports for more than one reader"
        source = self._sources.get(session_id, "")
        if self._chosen.uri.startswith("aeron:ipc"):
            return "" if not report.endpoint else "a reader in shared memory names an address"
        if _address_of(report.endpoint) != _address_of(source):
            return (
                f"a reader at {source or 'an unknown address'} wants its jobs at "
                f"{report.endpoint or 'no address'}: open it with host= the numeric address from "
                "which its datagrams come"
            )
        return ""

    def _refuse(self, why: str) -> None:
        if why != self.refusal:
            log.error("%s: a reader was refused: %s", self._title, why)
        self.refusal = why

    def _add(self, report: ReaderReport) -> None:
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
        seat: ReaderSeat[LanePublisher] = ReaderSeat(secrets.randbits(64), publisher, report)
        with self._changed:
            self._desk.add(seat)
            self._desk.report(seat, report)


def _address_of(endpoint: str) -> IPv4Address | IPv6Address | None:
    """The numeric host of ``host:port``; None: there is none."""
    host, _, port = endpoint.rpartition(":")
    try:
        address = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    return address if port.isdigit() and 0 < int(port) < 1 << 16 else None


def _has_lost_driver(lane: LanePublisher) -> bool:
    """Whether the driver of a lane has died: it may say so before the reports do."""
    if not isinstance(lane, stream.Publisher):
        return False
    return not lane.has_session or any(
        isinstance(event, stream.SessionChanged) for event in lane.events()
    )


def _close_quietly(one: LanePublisher | StreamReading[Any]) -> None:
    try:
        one.close()
    except RStreamError as error:
        log.warning("%r: not closed in good order: %s", one, error)
