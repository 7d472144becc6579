"""How a reader of shared work tells publishers its state.

A thread of its own reports while the user works: to a publisher that comes, once a second, and
again when a report found no room. The thread that takes jobs reports too, and so does any that
acknowledges one.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rstream import stream
from rstream._channel_uri import ChannelUri
from rstream._condition import Event
from rstream.codecs import raw
from rstream.driver import watch_loop
from rstream.errors import ClosedError, RStreamError
from rstream.stream._internal import inner_publisher, inner_reader
from rstream.work._ledger import pieces
from rstream.work._protocol import REPORT_TERM, VERSION, ReaderReport, hello_id, reports_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.stream._internal import StreamReading
    from rstream.work._ledger import JobLedger
    from rstream.work._protocol import LaneReport
    from rstream.work._settings import TakingSettings

log = logging.getLogger("rstream")

#: How often a reader reports without anything new.
REPORT_EVERY_S = 1.0
#: How soon it tries again when a report found no room.
RETRY_S = 0.002
#: How often a reader on UDP looks whether a publisher has come.
LOOK_EVERY_S = 0.1


class Reporter:
    """Reports to every publisher; made and closed with its reader.

    Args:
        chosen: the reader's settings.
        title: the reader, for people.
        ledger: what it has.
        lock: guards the ledger.
        lanes_id: stream id of its lanes.
        endpoint: where they are; empty: shared memory.
        codec_id: of its codec.
        on_complete: is called when every publisher that was seen has completed.
    """

    def __init__(
        self,
        chosen: TakingSettings,
        title: str,
        *,
        ledger: JobLedger,
        lock: threading.RLock,
        lanes_id: int,
        endpoint: str,
        codec_id: int,
        on_complete: Callable[[], None],
    ) -> None:
        self._chosen = chosen
        self._title = title
        self._ledger = ledger
        self._lock = lock
        self._lanes_id = lanes_id
        self._endpoint = endpoint
        self._codec_id = codec_id
        self._on_complete = on_complete
        self._reader = secrets.randbits(63)
        self._pid = os.getpid()
        self.why = ""  # the error with which the reader leaves
        self._is_unsent = False  # a report found no room
        self._is_stopped = False
        self._prompted = Event()
        self._controls: list[stream.Publisher[ReaderReport]] = []
        self._hello: StreamReading[bytes] | None = None
        try:
            self._open()
        except BaseException:
            self._close_streams()
            raise
        self._thread = threading.Thread(
            target=self._run, name=f"rstream-work-{chosen.name}", daemon=True
        )

    def start(self) -> None:
        """Start the thread; once."""
        watch_loop(self)
        self._thread.start()

    def _open(self) -> None:
        chosen = self._chosen
        for uri in chosen.uris:
            channel = ChannelUri.parse(uri).with_defaults({"term-length": str(REPORT_TERM)})
            control = stream.publisher(
                chosen.name,
                ReaderReport,
                channel=str(channel),
                stream_id=reports_id(chosen.name),
                linger_s=0,
                dir=chosen.dir,
            )
            self._controls.append(inner_publisher(control, self._title))
        if not self._endpoint:
            hello = stream.reader(
                chosen.name,
                stream_id=hello_id(chosen.name),
                codec=raw(),
                on_lost="event",
                on_gap="resume",
                dir=chosen.dir,
            )
            self._hello = inner_reader(hello, self._title)

    @property
    def is_complete(self) -> bool:
        """Whether every publisher that was seen has completed; over UDP that is not known."""
        return self._hello is not None and self._hello.is_ended

    def report(self, *, is_leaving: bool = False, is_whole: bool = False) -> bool:
        """Tell every publisher the state; any thread. False: one has no room for it now."""
        with self._lock:
            version = self._ledger.version
            lanes = self._ledger.reports(is_leaving=is_leaving, is_whole=is_whole)
        *partial, last = pieces(lanes)
        is_sent = True
        for control in self._controls:
            try:
                is_sent &= all(self._tell(control, piece, is_partial=True) for piece in partial)
                is_sent &= self._tell(control, last, is_leaving=is_leaving)
            except ClosedError:
                return False
            except RStreamError as error:
                log.warning("%s: publishers could not be told: %s", self._title, error)
                is_sent = False
        if is_sent:
            with self._lock:
                self._ledger.told(version)
        elif not self._is_unsent:
            self._is_unsent = True
            self._prompt()
        return is_sent

    def _tell(
        self,
        control: stream.Publisher[ReaderReport],
        lanes: list[LaneReport],
        *,
        is_leaving: bool = False,
        is_partial: bool = False,
    ) -> bool:
        """Send one report. False: there is no room for it now."""
        report = ReaderReport(
            version=VERSION,
            reader=self._reader,
            session=control.session_id,
            stream_id=self._lanes_id,
            endpoint=self._endpoint,
            prefetch=self._chosen.prefetch,
            codec_id=self._codec_id,
            is_leaving=is_leaving,
            lanes=lanes,
            pid=self._pid,
            is_partial=is_partial,
            why=self.why,
        )
        # Without a publisher there is nobody to tell: one that comes gets the next report.
        return control.offer(report) > 0 or not control.is_connected

    def _prompt(self) -> None:
        """Wake the thread."""
        if self._hello is None:
            self._prompted.set()
        else:
            with suppress(RStreamError):
                self._hello.wake()

    # ---- the thread ----

    def _run(self) -> None:
        connected = [False] * len(self._controls)
        next_s = 0.0
        while not self._is_stopped:
            try:
                before, connected = connected, [one.is_connected for one in self._controls]
                has_new = self._has_new_publisher()
                now_s = time.monotonic()
                if self._is_unsent or has_new or before != connected or now_s >= next_s:
                    self._is_unsent = False
                    self._is_unsent = not self.report(is_whole=True)
                    next_s = now_s + REPORT_EVERY_S
                if self.is_complete:
                    self._on_complete()
                self._pause(RETRY_S if self._is_unsent else max(0.0, next_s - time.monotonic()))
            except ClosedError:
                return
            except RStreamError as error:
                log.warning("%s: %s; it tries again", self._title, error)
                time.sleep(LOOK_EVERY_S)
            except Exception:
                log.exception("%s: a report failed; it tries again", self._title)
                time.sleep(REPORT_EVERY_S)

    def _has_new_publisher(self) -> bool:
        if self._hello is None:
            return False
        self._hello.poll()
        return any(isinstance(event, stream.Available) for event in self._hello.events())

    def _pause(self, seconds: float) -> None:
        if self._hello is not None:
            self._hello.wait(seconds)
        elif self._prompted.wait(min(seconds, LOOK_EVERY_S)):
            self._prompted.clear()

    # ---- the end ----

    def close(self) -> None:
        """ReaderReport for the last time, and leave."""
        self.stop()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()
        with suppress(RStreamError):
            self.report(is_leaving=True, is_whole=True)
        self._close_streams()

    def _close_streams(self) -> None:
        ends: list[Any] = [*self._controls, self._hello]
        for one in ends:
            try:
                if one is not None:
                    one.close()
            except RStreamError as error:
                log.warning("%r: not closed in good order: %s", one, error)

    def stop(self) -> None:
        """Stop the thread without waiting for anything; at the end of the program."""
        self._is_stopped = True
        self._prompt()

    def join(self, timeout_s: float) -> None:
        """Wait for the thread."""
        self._thread.join(timeout_s)
