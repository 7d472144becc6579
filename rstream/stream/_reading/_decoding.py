"""From transport batches to objects: headers are checked, data messages are decoded.

A control message (complete, error) changes what is known of its publisher and is not handed out. A
message that this reader cannot read is skipped, counted, and reported once per publisher.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rstream import _core
from rstream._process import raise_of_handler
from rstream.codecs import describe_codec
from rstream.errors import CodecError, NameMismatch
from rstream.stream._blocks import map_block
from rstream.stream._events import Completed, Failed, Refused
from rstream.stream._names import (
    FLAGS_KNOWN,
    KIND_BLOCK,
    KIND_COMPLETE,
    KIND_ERROR,
    KIND_PLAIN,
    header_of,
    known_name,
)
from rstream.stream._remote import decode_failure, make_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Buffer

    from rstream.codecs import Codec
    from rstream.stream._reading._input import Input
    from rstream.stream._reading._peers import Peer
    from rstream.stream._reading._report import Report

T = TypeVar("T")


class Decoder(Generic[T]):
    """Decodes the batches of one reader. One thread at a time.

    Args:
        report: where events and errors go.
        codec: decodes the payloads.
        directory: the driver directory, where the names of publishers are looked up.

    Attributes:
        indexes: which messages of the last batch the objects were made of; None: all, in order.
        errors: message of the last batch, and the error that a poll raises in its place.
        moved: publishers of the last batch, and how far it brings each.

    A handler may interrupt the decoding, and the same batch is decoded again. So what it changes of
    a publisher is the same twice, and the caller moves the positions when it has the objects.
    """

    def __init__(self, report: Report, codec: Codec[T], directory: str) -> None:
        self._report = report
        self._codec = codec
        # Views go only to codecs that take them.
        self._decode_many: Callable[[Sequence[Any]], list[T]] = codec.decode_many
        self._directory = directory
        self._expected = header_of(KIND_PLAIN, codec.codec_id, report.name)
        self._block = header_of(KIND_BLOCK, codec.codec_id, report.name)
        # Other codecs are promised bytes.
        self._maps_blocks: bool = getattr(codec, "maps_blocks", False)
        self.indexes: list[int] | None = None
        self.errors: list[tuple[int, Exception]] = []
        self.moved: list[tuple[Peer, int]] = []
        self._at = 0  # the message of a batch that is looked at
        self._position = 0  # behind it
        self._name_hash = _core.name_hash(report.name) if report.name else 0

    def decode(self, source: Input, batch: _core.Batch, payloads: Sequence[Buffer]) -> list[T]:
        """The objects of a batch, in order.

        Args:
            source: where the batch was read.
            batch: at least one message.
            payloads: its messages, as bytes or as views.
        """
        self.indexes = None
        if self.errors:
            self.errors = []
        peers = source.peers.by_session
        if len(peers) == 1 and batch.common_header == self._expected:
            # The common case: one publisher, data only. Its session need not be looked up.
            (peer,) = peers.values()
            end_position = batch.end_position
            if peer.is_rstream and not peer.again_until and end_position is not None:
                self.moved = [(peer, end_position)]
                return self._decode(source, batch, payloads, None)
        return self._decode_mixed(source, batch, payloads)

    def _decode_mixed(
        self, source: Input, batch: _core.Batch, messages: Sequence[Buffer]
    ) -> list[T]:
        payloads: list[Buffer] = []
        places: list[tuple[int, int]] = []
        self.indexes = []
        moved: dict[int, tuple[Peer, int]] = {}
        session_ids = batch.session_ids()
        positions = batch.positions()
        for index, header in enumerate(batch.headers()):
            session_id, position = session_ids[index], positions[index]
            peer = source.peers.get(session_id)
            if position <= peer.again_until:
                continue  # handed out before this reader joined again
            moved[session_id] = peer, position
            self._position = position
            if header == self._expected:
                peer.is_rstream = True
            else:
                self._at = index
                if not self._is_data(source, session_id, peer, header, messages[index]):
                    continue
            payload = messages[index]
            if header == self._block:
                try:
                    payload = self._content_of(source, payload)
                except CodecError as error:
                    where = f"{self._report.where(source, session_id)}, position {position}"
                    self._refuse(session_id, peer, position, CodecError(f"{where}: {error}"))
                    continue
            payloads.append(payload)
            self.indexes.append(index)
            places.append((session_id, position))
        self.moved = list(moved.values())
        return self._decode(source, batch, payloads, places)

    def _content_of(self, source: Input, note: Buffer) -> Buffer:
        """The content of the shared block that a message names."""
        if not source.channel.startswith("aeron:ipc"):
            raise CodecError("it names a shared block, which only a writer of this host can")
        content = map_block(self._directory, note)
        return content if self._maps_blocks else bytes(content)

    def _is_data(
        self, source: Input, session_id: int, peer: Peer, value: int, payload: Buffer
    ) -> bool:
        """Whether a message with another header than the usual one is handed out."""
        header = _core.decode_header(value)
        if header is None:
            return True  # a plain Aeron message
        peer.is_rstream = True
        kind, flags, codec_id, _, name_hash = header
        if self._name_hash and name_hash not in (0, self._name_hash):
            self._refuse_once(session_id, peer, self._name_error(source, session_id, name_hash))
            return False
        if kind == KIND_COMPLETE:
            if not peer.is_done:
                event = Completed(session_id=session_id, position=self._position)
                self._report.events.append(event)
            source.peers.done(session_id)
            return False
        if kind == KIND_ERROR:
            self._on_failed(source, session_id, peer, bytes(payload))
            return False
        text = "" if value == self._block else self._unreadable(kind, flags, codec_id)
        if text:
            where = self._report.where(source, session_id)
            error = CodecError(f"{where}, position {self._position}: {text}")
            self._refuse_once(session_id, peer, error)
            return False
        return True

    def _unreadable(self, kind: int, flags: int, codec_id: int) -> str:
        """Why a message cannot be decoded; empty: it can."""
        if kind != KIND_PLAIN or flags & ~FLAGS_KNOWN:
            return (
                f"a message of kind {kind} with flags {flags}, which this release cannot read; "
                "the publisher runs a newer one"
            )
        if codec_id in (0, self._codec.codec_id):
            return ""
        return (
            f"written with codec {describe_codec(codec_id)}, this reader has "
            f"{describe_codec(self._codec.codec_id)}; use the same type or codec= at both ends"
        )

    def _refuse_once(self, session_id: int, peer: Peer, error: Exception) -> None:
        """Skip a message; as all of this publisher are like it, report only the first."""
        if peer.refused_at not in (0, self._position):
            self._report.refused += 1
            return
        self._refuse(session_id, peer, self._position, error)
        peer.refused_at = self._position

    def _refuse(self, session_id: int, peer: Peer, position: int, error: Exception) -> None:
        """Skip a message, and report it."""
        self._report.refused += 1
        is_first, peer.is_warned = not peer.is_warned, True
        event = Refused(
            session_id=session_id,
            position=position,
            source=peer.source,
            reason=str(error),
            process=peer.process,
        )
        if self._report.note(event, error, is_first=is_first):
            self.errors.append((self._at, error))

    def _on_failed(self, source: Input, session_id: int, peer: Peer, payload: bytes) -> None:
        # With on_lost="event" nothing is raised. So the failure must not look like a completion,
        # which would end the reader's loop without a word.
        source.peers.done(session_id, counts=self._report.is_raising)
        sent = decode_failure(payload)
        error = make_remote(
            sent,
            f"{self._report.where(source, session_id)}: its publisher failed: ",
            channel=source.channel,
            stream_id=self._report.stream_id,
            session_id=session_id,
            position=self._position,
        )
        event = Failed(
            session_id=session_id,
            position=self._position,
            source=peer.source,
            reason=sent.text,
            error=error,
            process=peer.process,
        )
        if self._report.note(event, error):
            self.errors.append((self._at, error))

    def _name_error(self, source: Input, session_id: int, name_hash: int) -> NameMismatch:
        stream_id = self._report.stream_id
        other = known_name(self._directory, session_id, stream_id, name_hash)
        other_text = f"{other!r}" if other else "another name"
        return NameMismatch(
            f"{self._report.where(source, session_id)}: its messages are for {other_text} "
            f"(hash {name_hash:#06x}), this reader's name is {self._report.name!r} "
            f"(hash {self._name_hash:#06x})",
            hint="the two names meet on one stream id: use the same name, or another id",
            channel=source.channel,
            stream_id=stream_id,
            session_id=session_id,
        )

    def _decode(
        self,
        source: Input,
        batch: _core.Batch,
        payloads: Sequence[Buffer],
        places: list[tuple[int, int]] | None,
    ) -> list[T]:
        if not payloads:
            return []
        try:
            items = self._decode_many(payloads)
            count = len(items)
        except Exception as error:  # also what a codec did not foresee, such as RecursionError
            raise_of_handler(error)
            if self._failure_of(payloads) is None:
                raise
            return self._decode_singly(source, payloads, places or _places_of(batch))
        if count != len(payloads):
            # Nothing tells which object belongs to which message.
            self._refuse_all(source, places or _places_of(batch), self._miscount(count, payloads))
            return []
        return items

    def _failure_of(self, payloads: Sequence[Buffer]) -> Exception | None:
        """The error of the codec, which comes a second time too. None: a signal handler raised what
        came, such as a limit of time; the same batch is decoded again when the program goes on.
        """
        try:
            self._decode_many(payloads)
        except Exception as error:
            return error
        return None

    def _miscount(self, count: int, messages: Sequence[Buffer]) -> str:
        codec = self._codec
        return (
            f"decode_many of codec {type(codec).__qualname__} (id {codec.codec_id}) returned "
            f"{count} objects for {len(messages)} messages, which were skipped; it must return "
            "one object for each message"
        )

    def _refuse_all(self, source: Input, places: list[tuple[int, int]], text: str) -> None:
        """Skip the messages of a batch; one error for each publisher, at its last position."""
        last = dict(places)
        self._at = len(places) - 1 if self.indexes is None else self.indexes[-1]
        self.indexes = []
        self._report.refused += len(places) - len(last)
        for session_id, position in last.items():
            error = CodecError(
                f"{self._report.where(source, session_id)}, position {position}: {text}"
            )
            self._refuse(session_id, source.peers.get(session_id), position, error)

    def _decode_singly(
        self, source: Input, payloads: Sequence[Buffer], places: list[tuple[int, int]]
    ) -> list[T]:
        """Hand out what can be decoded, keep an error for each message that cannot."""
        items: list[T] = []
        indexes = list(range(len(payloads))) if self.indexes is None else self.indexes
        self.indexes = []
        for index, payload, (session_id, position) in zip(indexes, payloads, places, strict=True):
            self._at = index
            error = None
            try:
                decoded = self._decode_many([payload])
            except Exception:
                decoded, error = [], self._failure_of([payload])
                if error is None:
                    raise
            if error is None and len(decoded) != 1:
                error = CodecError(self._miscount(len(decoded), [payload]))
            if error is None:
                items += decoded
                self.indexes.append(index)
            else:
                what = str(error) if isinstance(error, CodecError) else repr(error)
                refusal = CodecError(
                    f"{self._report.where(source, session_id)}, position {position}: {what}"
                )
                refusal.__cause__ = error
                self._refuse(session_id, source.peers.get(session_id), position, refusal)
        return items


def _places_of(batch: _core.Batch) -> list[tuple[int, int]]:
    """Session and position of each message."""
    return list(zip(batch.session_ids(), batch.positions(), strict=True))
