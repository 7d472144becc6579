"""The C extension: a thin binding of the transport, without policy. Users import the modules that
wrap it instead, rstream.driver and rstream.client.

Return codes: ``offer`` and the methods like it return a position (> 0) or a negative reason,
NOT_CONNECTED … ERROR (Aeron's numbers), and never raise for one. All other methods raise the
exceptions of rstream.errors, whose classes ``_set_errors`` hands over once.
Threads: only waits release the GIL, unless a method says otherwise. Ctrl-C ends a wait within
100 ms. After a fork every handle raises ForkedError.
"""

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias, final, overload

from _typeshed import structseq
from typing_extensions import Buffer, disjoint_base

NOT_CONNECTED: Final = -1
BACK_PRESSURED: Final = -2
RATE_LIMITED: Final = -7
HELD_BY_WINDOW: Final = 0
HELD_BY_RATE: Final = 1
HELD_BY_BUDGET: Final = 2
HELD_BY_STORAGE: Final = 3
HELD_BY_ENDED: Final = 4
HELD_BY_PATH: Final = 5
ADMIN_ACTION: Final = -3
CLOSED: Final = -4
MAX_POSITION_EXCEEDED: Final = -5
ERROR: Final = -6

__version__: str
__build_id__: str  # hash of the C sources

_ImageEventKind: TypeAlias = Literal["available", "unavailable", "gap", "skipped"]

# Records: results whose values have names. They are tuples too.
@final
class ReaderDemand(structseq[Any], tuple[int, int, int, bool]):
    """What the readers of a publication want."""

    position: Final[int]  # where they stand
    messages: Final[int]  # wanted beyond it; UNBOUNDED (2**63 - 1): no limit
    readers: Final[int]  # that tell it; 0: none does
    is_connected: Final[bool]

@final
class ReaderLeft(structseq[Any], tuple[int, int, int, int]):
    """Where the last reader of a publication stopped."""

    times: Final[int]  # how often the reader left, or of a group the last one
    consumed: Final[int]  # the position that it had consumed
    joined: Final[int]  # where the next one began, -1: there is none yet
    sent: Final[int]  # up to where the network was sent, the next one gets the rest; -1: not known

@final
class ReaderLeftWho(structseq[Any], tuple[int, int, str]):
    """Who that reader was."""

    times: Final[int]  # how often the reader left
    pid: Final[int]  # or 0
    name: Final[str]  # the client's, or ``ip:port`` of a receiver, or empty

@final
class ReceiverError(structseq[Any], tuple[int, int, int, int | None, int | None, str, str]):
    """What a receiver reported to a publication."""

    code: Final[int]
    session_id: Final[int]
    receiver_id: Final[int]
    group_tag: Final[int | None]
    destination_id: Final[int | None]
    source: Final[str]
    text: Final[str]

@final
class ImageEvent(
    structseq[Any],
    tuple[_ImageEventKind, int, int, int, int | None, int, str, int, int, int, int, int, int],
):
    """An image came, went, or lost something."""

    kind: Final[_ImageEventKind]
    session_id: Final[int]
    correlation_id: Final[int]
    position: Final[int]
    end_position: Final[int | None]  # None: the stream did not end in good order
    received_position: Final[int]  # gap and skipped: bytes that are lost
    source: Final[str]
    evicted_ms: Final[int]  # the driver evicted this reader then, ms since 1970; 0: it did not
    goes_on_at: Final[int]  # of the image that follows, its group has left it behind; 0: none
    message_length: Final[int]  # skipped: of a message that came in parts and is not handed out
    skip_reason: Final[int]  # skipped: a rst_skip_reason_t
    initial_term_id: Final[int]
    segment: Final[int]  # skipped: the shared segment of the message; -1: none

@final
class ImageFacts(
    structseq[Any],
    tuple[int, int, int, int, int, int, int, int, int | None, bool, str, int],
):
    """An image of a subscription."""

    correlation_id: Final[int]
    session_id: Final[int]
    initial_term_id: Final[int]
    term_length: Final[int]
    mtu: Final[int]
    active_transports: Final[int]
    join_position: Final[int]
    position: Final[int]
    end_position: Final[int | None]
    is_revoked: Final[bool]
    source: Final[str]
    segment_bytes: Final[int]  # of messages in shared segments that were consumed since it joined

@final
class HeldMemory(structseq[Any], tuple[int, int, int]):
    """What leases and views hold of the log."""

    held_bytes: Final[int]  # from the oldest lease on, of the image of which they hold most
    window_bytes: Final[int]  # of that image
    mtu_max: Final[int]  # of all images

@final
class SegmentUse(structseq[Any], tuple[int, int, int, int]):
    """Messages in shared segments, each value of the image that has most."""

    unread_bytes: Final[int]  # sent and not consumed
    unread_messages: Final[int]
    held_bytes: Final[int]  # that leases and views hold
    held_messages: Final[int]

@final
class CounterFacts(structseq[Any], tuple[int, int, int, int, int, int, str]):
    """A counter of a driver directory."""

    id: Final[int]
    type_id: Final[int]
    value: Final[int]
    registration_id: Final[int]
    owner_id: Final[int]
    reference_id: Final[int]
    label: Final[str]

@final
class CounterEvent(structseq[Any], tuple[bool, int, int]):
    """A counter was added or removed."""

    is_available: Final[bool]
    counter_id: Final[int]
    registration_id: Final[int]

@final
class LoggedError(structseq[Any], tuple[int, int, int, str]):
    """An entry of the error log."""

    observations: Final[int]
    first_ms: Final[int]
    last_ms: Final[int]
    text: Final[str]

@final
class LossFacts(structseq[Any], tuple[int, int, int, int, int, int, str, str]):
    """An entry of the loss report."""

    observations: Final[int]
    bytes_lost: Final[int]
    first_ms: Final[int]
    last_ms: Final[int]
    session_id: Final[int]
    stream_id: Final[int]
    channel: Final[str]
    source: Final[str]

@final
class ClientFacts(structseq[Any], tuple[int, int, int, str]):
    """A client of a driver."""

    client_id: Final[int]
    pid: Final[int]  # or 0
    heartbeat_ms: Final[int]  # its last one, since 1970
    name: Final[str]  # or empty

@final
class HolderFacts(
    structseq[Any],
    tuple[int, bool, bool, int, int, int, int, int, int, int, int, int, str],
):
    """The slowest reader of a publication, or the one whose report its rate follows."""

    registration_id: Final[int]  # of the publication
    is_report: Final[bool]  # its rate follows this one
    is_local: Final[bool]
    reader_id: Final[int]  # of the receiver or the subscription
    client_id: Final[int]  # or -1
    pid: Final[int]  # or 0
    since_ms: Final[int]
    position: Final[int]
    window_bytes: Final[int]
    gap_position: Final[int]  # where a receiver waits for a gap, or 0
    allowed_bytes_per_s: Final[int]  # of a report
    drain_bytes_per_s: Final[int]  # of a report
    source: Final[str]  # or empty

@final
class LimitCause(structseq[Any], tuple[int, int, int]):
    """The cause of a publication's limit."""

    held_by: Final[int]  # HELD_BY_…
    needed_bytes: Final[int]  # by its next term; 0 unless it is HELD_BY_STORAGE
    usable_bytes: Final[int]  # likewise

@final
class LastReader(structseq[Any], tuple[int, str, int, str]):
    """The last reader of a publication that has none."""

    left_ms: Final[int]  # since 1970; 0: a reader is there, or none has left
    why: Final[str]  # the error with which it left as it said, or empty
    pid: Final[int]  # or 0
    name: Final[str]  # its client's, or ``ip:port`` of a receiver, or empty

@final
class SegmentFacts(structseq[Any], tuple[int, int, list[tuple[int, int]]]):
    """A publication's messages in shared segments."""

    length_bytes: Final[int]  # of all
    waiting_bytes: Final[int]  # of one that waits until readers have consumed earlier ones, or 0
    newest: Final[list[tuple[int, int]]]

@final
class AeronName(structseq[Any], tuple[str, str, str | None, str | None]):
    """A name of an option of Aeron's drivers."""

    name: Final[str]  # the property
    variable: Final[str]
    option: Final[str | None]
    why_none: Final[str | None]

@final
class DriverOption(structseq[Any], tuple[str, str, str]):
    """An option of the driver."""

    name: Final[str]
    default: Final[str]
    help: Final[str]

@final
class DriverInfo(structseq[Any], tuple[int, int]):
    """The process of a driver."""

    pid: Final[int]
    heartbeat_age_ms: Final[int]  # -1 after an orderly end

@final
class LastError(structseq[Any], tuple[str, int, str]):
    """A thread's last failure."""

    code: Final[str]  # its name
    detail: Final[int]
    text: Final[str]

def _set_errors(by_code: dict[str, type[Exception]], base: type[Exception], /) -> None:
    """Hand over the exception classes by C code name ("RST_EINVAL" …). Called once."""

def last_error() -> LastError:
    """This thread's last failure; it explains a result ERROR."""

def build_config() -> dict[str, str]: ...
def default_dir() -> str: ...
def host_token(dir: str, /) -> str: ...
def probe(dir: str, /) -> int:
    """State of a driver directory: 0 absent, 1 dead, 2 alive, 3 alive and not rstream."""

def check_dir(dir: str, /) -> None:
    """Check that a driver could start in a directory, which may be missing.

    Raises DriverAccess, ConfigError or SystemCallError with the reason why not.
    """

def clean(dir: str, /) -> int:
    """Remove the files of a dead driver; returns their number.

    Raises DriverError when a driver lives there.
    """

def check_channel(uri: str, /) -> None:
    """Check a channel URI.

    Raises ChannelError when it is malformed, NotSupported when no rstream driver serves it.
    """

def name_hash(name: str, /) -> int: ...
def printable(text: str, /) -> str:
    """The text with escapes such as ``\\x1b`` for control characters; line ends and tabs stay."""

def msgpack_cost(data: Buffer, enough: int, /) -> int:
    """Bytes that a message of msgpack takes when it is decoded, about; -1: it is not whole.

    Texts and bytes count no more than what Python needs besides their bytes. It stops when that is
    more than ``enough``.
    """

def _fail_check(number: int, /) -> None:
    """For tests: the number-th look for signals from now on raises KeyboardInterrupt; 0: none."""

def encode_header(kind: int, flags: int, codec_id: int, target: int, name_hash: int, /) -> int:
    """The 64-bit reserved value (signed), docs/reference/wire.md."""

def decode_header(value: int, /) -> tuple[int, int, int, int, int] | None:
    """(kind, flags, codec_id, target, name_hash), or None for a plain Aeron message."""

def read_counters(dir: str, /) -> list[CounterFacts]: ...
def read_errors(dir: str, /) -> list[LoggedError]: ...
def read_losses(dir: str, /) -> list[LossFacts]: ...
def read_clients(dir: str, /) -> list[ClientFacts]: ...
def read_holders(dir: str, /) -> list[HolderFacts]: ...
def read_held_by(dir: str, registration_id: int, /) -> LimitCause:
    """Raises SystemCallError when the publication's log file is missing."""

def read_client_at(dir: str, registration_id: int, is_reader: bool, /) -> tuple[int, str]:
    """(pid or 0, name or "") of the client that owns a publication, or of one that reads it in
    shared memory.
    """

def read_last_reader(dir: str, registration_id: int, /) -> LastReader:
    """Raises SystemCallError when the publication's log file is missing."""

def read_demand(dir: str, registration_id: int, /) -> int:
    """Messages that the readers of a publication want beyond what they have consumed.

    2**63 - 1: no limit, or they do not tell. Raises SystemCallError when its log file is missing.
    """

def read_segments(dir: str, registration_id: int, /) -> SegmentFacts:
    """``newest``: for the newest message of each segment, in no order, (the position behind it, the
    bytes of all that were sent before it).

    Raises SystemCallError when the publication's log file is missing.
    """

def terminate(dir: str, token: bytes, /) -> None:
    """Ask the driver to end; it ends if its ``termination-validator`` allows it."""

def aeron_names() -> list[AeronName]: ...
def driver_info(dir: str, /) -> DriverInfo: ...
def driver_options() -> list[DriverOption]: ...

# Helpers of benchmarks and tests: they write and check blocks of distinct messages in C.
def fill_block(block: Buffer, size: int, first: int, /) -> int:
    """Write len(block) // size messages; returns their number. ``size`` >= 12.

    Bytes 0-7 are the message's number (from ``first`` on), 8-11 a checksum over the number and the
    rest. The rest is a pattern that depends on the number.
    """

def check_messages(messages: Sequence[bytes] | Buffer, size: int, first: int, /) -> int:
    """Check the numbers (consecutive from ``first``) and checksums of messages of ``size`` bytes.

    ``messages`` is a list of bytes, or one block. Returns the number of messages. Raises ValueError
    naming the first wrong one.
    """

@final
class Driver:
    """An embedded media driver: it runs on threads of this process."""

    def __new__(cls, options: dict[str, str], /) -> Self: ...
    @property
    def dir(self) -> str: ...
    def start(self) -> None: ...
    def do_work(self) -> tuple[int, int]:
        """One pass in invoker mode: (work count, next deadline in monotonic ns)."""
    def close(self) -> None: ...

@final
class Client:
    def __new__(
        cls, dir: str, name: str, driver_timeout_ms: int, keepalive_interval_ns: int, /
    ) -> Self: ...
    @property
    def client_id(self) -> int: ...
    @property
    def dir(self) -> str: ...
    @property
    def state(self) -> int:
        """0 open, 1 closed, 2 driver lost, 3 timed out."""
    @property
    def is_aeron_driver(self) -> bool: ...
    def add_publication(
        self, channel: str, stream_id: int, exclusive: bool, timeout_s: float, /
    ) -> Publication: ...
    @overload
    def add_subscription(
        self, channel: str, stream_id: int, timeout_s: float, /
    ) -> Subscription: ...
    @overload
    def add_subscription(
        self, channel: str, stream_id: int, on_demand: bool, timeout_s: float, /
    ) -> Subscription:
        """``on_demand``: the demand is 0 until request(); publishers know that from the start."""
    def next_session_id(self, stream_id: int, timeout_s: float, /) -> int: ...
    def add_counter(
        self, type_id: int, key: Buffer, label: str, timeout_s: float, /
    ) -> Counter: ...
    def add_static_counter(
        self, type_id: int, registration_id: int, key: Buffer, label: str, timeout_s: float, /
    ) -> Counter: ...
    def find_counter(self, type_id: int, registration_id: int, /) -> int | None: ...
    def read_counter(self, counter_id: int, /) -> CounterFacts | None: ...
    def next_counter_event(self) -> CounterEvent | None: ...
    def waiter(self) -> Waiter: ...
    def close(self) -> None: ...

@final
class Publication:
    @property
    def channel(self) -> str: ...
    @property
    def stream_id(self) -> int: ...
    @property
    def session_id(self) -> int: ...
    @property
    def registration_id(self) -> int: ...
    @property
    def term_length(self) -> int: ...
    @property
    def mtu(self) -> int: ...
    @property
    def max_payload_length(self) -> int: ...
    @property
    def max_message_length(self) -> int: ...
    @property
    def max_control_length(self) -> int: ...
    @property
    def is_exclusive(self) -> bool: ...
    @property
    def is_ipc(self) -> bool: ...
    @property
    def position(self) -> int: ...
    @property
    def sent_position(self) -> int: ...
    @property
    def position_limit(self) -> int: ...
    @property
    def consumed_position(self) -> int: ...
    @property
    def available_window(self) -> int: ...
    @property
    def initial_term_id(self) -> int: ...
    @property
    def position_bits(self) -> int: ...
    @property
    def max_position(self) -> int: ...
    @property
    def demand(self) -> ReaderDemand | None:
        """None after the end."""
    @property
    def has_new_demand(self) -> bool:
        """Whether ``demand`` has grown since it was read last; True after the end."""
    @property
    def held_by(self) -> int:
        """The cause of the limit: HELD_BY_…; CLOSED after the end."""
    @property
    def left_who(self) -> ReaderLeftWho: ...
    @property
    def left(self) -> ReaderLeft: ...
    @property
    def storage(self) -> tuple[int, int]:
        """(bytes that the next term needs, bytes usable); (0, 0) unless ``held_by`` is
        HELD_BY_STORAGE.
        """
    @property
    def next_frame(self) -> tuple[int, int] | None:
        """(term id, term offset) of the next frame; None after the end."""
    @property
    def channel_status(self) -> int:
        """-1 errored, 0 initialising, 1 active, 2 closing; CLOSED after the end."""
    @property
    def channel_status_id(self) -> int:
        """Counter of the state of its socket; -1: shared memory."""
    @property
    def segment_bytes(self) -> int:
        """Bytes of memory of its shared segments."""
    @property
    def unread_bytes(self) -> int:
        """Bytes that were sent and that the slowest reader has not consumed, in the log and in
        shared segments; 0 after the end.
        """
    @property
    def local_addresses(self) -> list[str]: ...
    @property
    def errors_lost(self) -> int: ...
    @property
    def is_connected(self) -> bool: ...
    @property
    def is_closed(self) -> bool: ...
    def offer(self, data: Buffer, reserved_value: int = 0, /) -> int: ...
    def offer_parts(self, parts: Sequence[Buffer], reserved_value: int = 0, /) -> int: ...
    def offer_many(
        self, messages: Sequence[Buffer], start: int = 0, reserved_value: int = 0, /
    ) -> tuple[int, int]:
        """Offer messages[start:] in order until one is refused: (taken, position or reason).

        Only messages[start] raises when it is no buffer; another one ends the call before it.
        """
    def offer_block(
        self, data: Buffer, size: int, start: int = 0, reserved_value: int = 0, /
    ) -> tuple[int, int]:
        """As ``offer_many`` for a block of messages of ``size`` bytes; ``start`` is a count."""
    def try_claim(self, length: int, reserved_value: int = 0, /) -> Claim | int: ...
    def offer_frames(self, frames: Buffer, /) -> int: ...
    def offer_control(self, data: Buffer, reserved_value: int, /) -> int:
        """Append one message of at most ``max_control_length`` bytes, such as the end of the
        stream, also where the readers have no room. Only for exclusive publications.
        """
    def fill_segment(self, buffers: Sequence[Buffer], /) -> int:
        """Copy a message of at most 65 MiB into a shared segment, without the GIL; returns its
        number. Or a reason: BACK_PRESSURED: readers hold all segments; CLOSED; ERROR: there is no
        memory for one, or this publication cannot have any (``last_error()``).
        """
    def offer_segment(self, number: int, reserved_value: int, /) -> int:
        """Append the message in the segment; after a reason it may be offered again."""
    def drop_segment(self, number: int, /) -> None: ...
    def note_segment_wait(self, length: int, /) -> None:
        """Tell tools that a message waits until readers have consumed earlier ones; 0: none."""
    def append_padding(self, length: int, /) -> int: ...
    def add_destination(self, uri: str, timeout_s: float, /) -> int: ...
    def remove_destination(self, destination: str | int, timeout_s: float, /) -> None: ...
    def set_rate(self, rate: str, timeout_s: float, /) -> None: ...
    def revoke(self) -> None: ...
    def next_error(self) -> ReceiverError | None: ...
    def wait(self, timeout_s: float, /) -> bool:
        """Wait for room or for a change of connection; False after ``timeout_s``."""
    def close(self) -> None: ...

@final
class Claim:
    """A writable part of the log.

    A clean exit of the ``with`` block commits it; an exception aborts it.
    """

    @property
    def position(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __enter__(self) -> memoryview: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
        /,
    ) -> None: ...
    def commit(self) -> int: ...
    def abort(self) -> None: ...

@final
class Subscription:
    @property
    def channel(self) -> str: ...
    @property
    def stream_id(self) -> int: ...
    @property
    def registration_id(self) -> int: ...
    @property
    def is_connected(self) -> bool: ...
    @property
    def is_closed(self) -> bool: ...
    @property
    def image_count(self) -> int: ...
    @property
    def local_address(self) -> str | None: ...
    @property
    def local_addresses(self) -> list[str]: ...
    @property
    def channel_status(self) -> int: ...
    @property
    def channel_status_id(self) -> int:
        """Counter of the state of its socket; -1: shared memory or a spy."""
    @property
    def demand(self) -> int: ...
    @property
    def fill(self) -> tuple[int, int]:
        """(bytes received and not consumed, window) of the fullest image."""
    @property
    def segments(self) -> SegmentUse: ...
    @property
    def partial_bytes(self) -> int:
        """Bytes held of messages whose last part has not come."""
    @property
    def held(self) -> HeldMemory: ...
    @property
    def events_lost(self) -> int:
        """Image events lost because the bounded queue was full; normally 0."""
    def poll(self, limit: int, bytes_max: int = 0, /) -> Batch: ...
    def poll_demanded(self, limit: int, bytes_max: int = 0, /) -> Batch: ...
    @property
    def is_taken(self) -> bool:
        """Whether the lease of the last :meth:`take` is open."""
    def take(self, limit: int, bytes_max: int = 0, /) -> Batch:
        """As :meth:`poll`; but until the lease of the last one has ended, that batch again, also
        when its object is gone. A close leaves to the next reader what was not consumed of it.
        """
    def take_demanded(self, limit: int, bytes_max: int = 0, /) -> Batch: ...
    def poll_bounded(self, image_id: int, limit_position: int, limit: int, /) -> Batch: ...
    def poll_block(self, bytes_max: int, /) -> Batch:
        """A batch of one block of raw frames, or an empty one."""
    def add_destination(self, uri: str, timeout_s: float, /) -> int: ...
    def remove_destination(self, destination: str | int, timeout_s: float, /) -> None: ...
    def reject(self, image_id: int, reason: str, timeout_s: float, /) -> None: ...
    def say_why(self, image_id: int, reason: str, timeout_s: float, /) -> None: ...
    def images(self) -> list[ImageFacts]: ...
    def request(self, n: int, /) -> None:
        """Add to the demand, which saturates at 2**63 - 1; ``n`` < 1 raises ValueError."""
    def tell_demand(self, n: int, /) -> None:
        """Tell publishers that ``n`` more are wanted; it limits no poll. As request() otherwise."""
    def take_parts(self, name_hash: int, length_max: int, /) -> None:
        """Put messages together that come in parts, from the next poll on; call it once.

        ``name_hash`` is that of the stream's name; 0: parts of any named stream. A message longer
        than ``length_max`` bytes is skipped, and an event tells it.
        """
    def wait(self, timeout_s: float, /) -> bool: ...
    def next_event(self) -> ImageEvent | None: ...
    def peek_event(self) -> ImageEvent | None:
        """As :meth:`next_event`; the same one until :meth:`drop_event`."""
    def drop_event(self) -> None: ...
    def close(self) -> None: ...

@final
class Counter:
    """A counter of the application in the driver directory.

    Any thread may use it. Only one thread may write, unless all of them use ``add``. A static
    counter outlives the client that made it; any other ends with ``close()``, the object or the
    client.
    """

    value: int
    @property
    def counter_id(self) -> int: ...
    @property
    def registration_id(self) -> int: ...
    @property
    def is_closed(self) -> bool: ...
    def add(self, delta: int, /) -> int:
        """Add atomically, wrapping at 64 bits; returns the value before."""
    def propose_max(self, value: int, /) -> bool:
        """Raise the value to ``value``, never lower it; returns whether it rose."""
    def close(self) -> None: ...

@final
class Batch:
    """The messages of one poll, leased: their memory stays valid until release()."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[bytes]:
        """Each message copied to bytes."""
    def to_list(self) -> list[bytes]:
        """Each message as bytes: copied, unless it came in parts."""
    def messages(self) -> list[Message]: ...
    def views(self, copied_below: int, /) -> list[bytes | Message]:
        """Each message as a view, or copied to bytes if it has fewer bytes than this."""
    def headers(self) -> list[int]:
        """The reserved value of each message."""
    def positions(self) -> list[int]: ...
    def session_ids(self) -> list[int]: ...
    @property
    def common_header(self) -> int | None:
        """The reserved value that every message carries; None: they differ, or there is none."""
    @property
    def end_position(self) -> int | None:
        """The position after the last message; None: there is none."""
    @property
    def length_bytes(self) -> int:
        """Bytes of all messages as they lie in the log, each as one frame."""
    @property
    def is_intact(self) -> bool:
        """Whether everything copied so far is what was written.

        False: the reader was evicted meanwhile.
        """
    def release(self) -> None:
        """Move the subscriber position and end the lease. Idempotent.

        Raises BufferError while views are alive.
        """
    def keep(self) -> None:
        """End the lease, but keep views that are alive valid for as long as they are there.

        A view of a message that was sent in several frames holds its own memory. Any other holds
        the log, from this batch on: publishers wait when it is full (:attr:`Subscription.held`).
        """
    def set_aside(self) -> None:
        """Keep the lease while the subscription is polled on, until :meth:`release` or
        :meth:`give_back`. The messages cannot be read any more. Give several back youngest first.

        No effect on a released batch. Raises BufferError while views are alive.
        """
    def consume(self, count: int, /) -> None:
        """Move the position over the first ``count`` messages; the rest stays leased.

        No effect on a released batch. Raises BufferError while views are alive.
        """
    def give_back(self) -> None:
        """End the lease. The next poll reads what :meth:`consume` has not counted again.

        Raises BufferError while views are alive.
        """
    def unread(self, first: int, /) -> None:
        """End the lease. What was not consumed is read again from this message on: by the next
        poll, or after a close by the next reader. Views that are alive stay valid.
        """
    @property
    def consumed(self) -> bool:
        """Whether the lease has ended. Set it to move the position over so many messages; -1: over
        all, as :meth:`keep` does. No signal handler runs between that and the next instruction.
        """
    @consumed.setter
    def consumed(self, count: int) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
        /,
    ) -> None: ...

@final
class Message:
    """A read-only view of one message (buffer protocol)."""

    @property
    def session_id(self) -> int: ...
    @property
    def position(self) -> int: ...
    @property
    def reserved_value(self) -> int: ...
    def __len__(self) -> int: ...
    def __bytes__(self) -> bytes: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Waiter:
    """Sleeps on one file descriptor for many subscriptions and publications."""

    def attach(self, handle: Subscription | Publication, /) -> None: ...
    def attach_demand(self, publication: Publication, /) -> None:
        """Watch the demand of its readers (Publication.demand), not its room."""
    def detach(self, handle: Subscription | Publication, /) -> None: ...
    def wait(self, timeout_s: float, spin_s: float = 0.0, /) -> bool: ...
    def fileno(self) -> int: ...
    def arm(self) -> bool:
        """Prepare to sleep; True: something is ready already, so do not sleep."""
    def disarm(self) -> None: ...
    def wake(self) -> None: ...
    def close(self) -> None: ...

@final
class Turn:
    """A reentrant lock for moments, which costs half of ``threading.RLock``. After ``fork`` the
    child needs a new one.
    """

    def __new__(cls, title: str = ..., /) -> Self:
        """With the title of its owner it serves one use at a time: entering raises
        ConcurrentUseError while any thread is inside.
        """
    def __enter__(self) -> None: ...
    def __exit__(self, *exc: object) -> None: ...
    def within(self, seconds: float, /) -> Visit:
        """For one ``with``, which waits so long at most; it says whether this thread is inside."""
    @property
    def is_mine(self) -> bool:
        """Whether this thread is inside."""
    @property
    def is_contended(self) -> bool:
        """Whether another thread waits to enter."""

@final
class Visit:
    """A block in a turn, which waits for it a limited time."""

    def __enter__(self) -> bool:
        """Wait for the turn; whether this thread is inside."""
    def __exit__(self, *exc: object) -> None:
        """Leave if it is inside."""

@final
class SendState:
    """What a send of a publisher changes; C counts in the same step in which it offers.

    Attributes:
        lock: held during the short way.
        direct: takes the messages; None: there is no short way.
        quick_encode: makes the bytes; None: the object is the message, if it is bytes.
        accepts: classes whose objects take the short way; None: those of all classes.
        bucket: None, or what keeps the rate: then there is no short way.
        header: the reserved value of each message.
        reached: position after the last message.
        before: the same, of what was sent before a reader was seen; -1: nothing was sent since.
        short_way_end: position from which on there is no short way.
        sent: messages.
        look_again: messages after which ``_note_sent()`` looks at the readers.
        was_connected: whether a reader was there at the last look; else ``_note_sent()`` looks.
    """

    lock: Turn
    direct: Publication | None
    quick_encode: Callable[[Any], object] | None
    accepts: set[type] | None
    bucket: Any
    header: int
    reached: int
    before: int
    short_way_end: int
    sent: int
    look_again: int
    was_connected: bool
    def __new__(cls, lock: Turn, /) -> Self: ...
    def take(
        self,
        messages: int,
        offer: Callable[..., Any],
        data: Any,
        header: int,
        /,
        *more: int,
    ) -> Any:
        """Call an offer and count what it took: so many messages, or as many as it says."""

@disjoint_base
class SendPath:
    """The base of publishers: ``_send`` and ``_offer``, whose short way is in C.

    The rest is left to ``_send_slowly(obj, timeout_s=…)``, ``_offer_slowly(obj)``,
    ``_send_encoded(data, refusal)``, ``_offer_encoded(data, refusal)`` (0: it was not offered),
    ``_note_sent()``, and ``_on_unencodable(obj, error)``, which returns the message or raises.

    Attributes:
        _state: what a send changes; set once. Before there is no short way.
    """

    _state: SendState
    def _send(self, obj: Any, *, timeout_s: float | None = None) -> Any: ...
    def _offer(self, obj: Any) -> Any: ...
