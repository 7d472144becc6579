"""What other rooms of rstream may use of :mod:`rstream.stream`; no promise to its users."""

from __future__ import annotations

from rstream._session import Link
from rstream.stream import _pump as pump
from rstream.stream import _tally as tally
from rstream.stream._blocks import BlockPool, SharedBlock, remove_orphans
from rstream.stream._end import is_failure, linger_after
from rstream.stream._events import EVENTS_MAX, Gap, StreamEvent
from rstream.stream._inner import inner_publisher, inner_reader
from rstream.stream._names import (
    FLAGS_KNOWN,
    KIND_BLOCK,
    KIND_COMPLETE,
    KIND_ERROR,
    KIND_PART,
    KIND_PLAIN,
    check_name,
    new_stream_id,
    uri_keys,
)
from rstream.stream._open import check_trust, reader_opener, send_settings, under_policy
from rstream.stream._options import (
    PREFETCH,
    Prefetch,
    PublisherOptions,
    PublisherSettings,
    SubscriberOptions,
    SubscriberSettings,
    check_prefetch,
    settings,
)
from rstream.stream._parts import MESSAGE_LENGTH, PartedMessage
from rstream.stream._publisher import SET_RATE_TIMEOUT_S, send_encoded
from rstream.stream._publisher_facts import PublisherFacts, sending_of
from rstream.stream._pump import batches, items, next_part
from rstream.stream._reader import face_of, reading_of
from rstream.stream._reading._buffered import BufferedReading
from rstream.stream._reading._leaving import reason_of
from rstream.stream._reading._queue_thread import PUMP_WAIT_S, QueueThread
from rstream.stream._reading._reading import WAIT_FOREVER_S, Reading
from rstream.stream._reading._report import OnLost
from rstream.stream._reading._rest import Rest
from rstream.stream._reading._stream_reading import StreamReading
from rstream.stream._remote import decode_failure, encode_failure, make_remote
from rstream.stream._sending import CHUNK, Sending, SendSettings, Waiting, at_hand, length_of
from rstream.stream._subscriber import INSTEAD_OF_PICKLING
from rstream.stream._tally import (
    NOWHERE,
    Mark,
    Place,
    QueueMarks,
    Tally,
    close_disposed_here,
    here,
    leaving,
    settle_here,
    wait_until_left,
)
from rstream.stream._unsendable import add_index

__all__ = (
    "CHUNK",
    "EVENTS_MAX",
    "FLAGS_KNOWN",
    "INSTEAD_OF_PICKLING",
    "KIND_BLOCK",
    "KIND_COMPLETE",
    "KIND_ERROR",
    "KIND_PART",
    "KIND_PLAIN",
    "MESSAGE_LENGTH",
    "NOWHERE",
    "PREFETCH",
    "PUMP_WAIT_S",
    "SET_RATE_TIMEOUT_S",
    "WAIT_FOREVER_S",
    "BlockPool",
    "BufferedReading",
    "Gap",
    "Link",
    "Mark",
    "OnLost",
    "PartedMessage",
    "Place",
    "Prefetch",
    "PublisherFacts",
    "PublisherOptions",
    "PublisherSettings",
    "QueueMarks",
    "QueueThread",
    "Reading",
    "Rest",
    "SendSettings",
    "Sending",
    "SharedBlock",
    "StreamEvent",
    "StreamReading",
    "SubscriberOptions",
    "SubscriberSettings",
    "Tally",
    "Waiting",
    "add_index",
    "at_hand",
    "batches",
    "check_name",
    "check_prefetch",
    "check_trust",
    "close_disposed_here",
    "decode_failure",
    "encode_failure",
    "face_of",
    "here",
    "inner_publisher",
    "inner_reader",
    "is_failure",
    "items",
    "leaving",
    "length_of",
    "linger_after",
    "make_remote",
    "new_stream_id",
    "next_part",
    "pump",
    "reader_opener",
    "reading_of",
    "reason_of",
    "remove_orphans",
    "send_encoded",
    "send_settings",
    "sending_of",
    "settings",
    "settle_here",
    "tally",
    "under_policy",
    "uri_keys",
    "wait_until_left",
)
