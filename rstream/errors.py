"""The exceptions of rstream, all below :class:`RStreamError`.

RStreamError                       .code (stable text), .hint (what to do), .detail
├── ConfigError(ValueError)        channel, limits, units: raised before anything is opened
│   ├── ChannelError               a channel that cannot be used as it is written
│   ├── NameTaken                  another living endpoint has registered the name
│   └── NotSupported               well-formed, but this release does not serve it
├── DriverError                    the media driver, or access to it
│   ├── DriverNotFound             no driver is alive in the directory
│   ├── DriverTimeout(TimeoutError)  it did not answer in time
│   ├── DriverLost                 it died or was shut down while it was used
│   │   └── ClientTimedOut         it gave this client up
│   ├── DriverInUse                the directory has a living driver, or the port is taken
│   ├── DriverAccess(PermissionError)  another user owns the directory
│   ├── RegistrationError          it refused a command
│   ├── VersionMismatch            driver directory or message of another layout version
│   └── StorageError               not enough shared memory or memory
├── TransportError                 .channel .stream_id .session_id .position where known
│   ├── NotConnected               no subscriber
│   │   ├── NoServer               nobody serves requests of this name
│   │   └── NoReader               nobody has registered a reading end of this name
│   ├── BackPressured              no room: readers, rate or budget hold the publisher back
│   ├── MaxPositionExceeded        2**31 terms are used up
│   ├── MessageTooLarge(ValueError)
│   ├── ClosedError                closed here
│   ├── PublisherLost              the publisher vanished without completing the stream
│   ├── RemoteError                the other end failed; the text is its own
│   │   └── (ValueError, ...)      made on arrival for a class that both ends know (register)
│   ├── ServerLost                 the server of a request closed or died
│   ├── RequestTimeout(TimeoutError)  no answer in time; the server was told
│   ├── StreamEnded(EOFError)      get() after the last message of the stream
│   ├── ReadTimeout(TimeoutError)  get(): no message came in time
│   ├── SlowConsumer               more messages wait than the policy allows
│   ├── MessagesLost               a group went on without this reader, or a publisher does not
│   │                              know whether readers have what it sent; .gap says what
│   ├── CorruptError               content that contradicts its header
│   └── NameMismatch               two names on one stream
├── ContractError                  Reactive Streams: LocalContractError (you broke §x.y),
│                                  RemoteContractError (the peer did)
├── ConcurrentUseError(RuntimeError)  two threads at an object for one
├── ForkedError(RuntimeError)      made before fork, used in the child
├── CodecError(ValueError)         a value cannot be encoded or decoded
└── SystemCallError                the operating system refused something else
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from rstream._held_by import HeldBy
from rstream._known_errors import register

if TYPE_CHECKING:
    from rstream.stream._internal import Gap

__all__ = (
    "BY_CODE",
    "BackPressured",
    "ChannelError",
    "ClientTimedOut",
    "ClosedError",
    "CodecError",
    "ConcurrentUseError",
    "ConfigError",
    "ContractError",
    "CorruptError",
    "DriverAccess",
    "DriverError",
    "DriverInUse",
    "DriverLost",
    "DriverNotFound",
    "DriverTimeout",
    "ForkedError",
    "LocalContractError",
    "MaxPositionExceeded",
    "MessageTooLarge",
    "MessagesLost",
    "NameMismatch",
    "NameTaken",
    "NoReader",
    "NoServer",
    "NotConnected",
    "NotSupported",
    "PublisherLost",
    "RStreamError",
    "ReadTimeout",
    "RegistrationError",
    "RemoteContractError",
    "RemoteError",
    "RequestTimeout",
    "ServerLost",
    "SlowConsumer",
    "StorageError",
    "StreamEnded",
    "SystemCallError",
    "TransportError",
    "VersionMismatch",
    "register",
)


class RStreamError(Exception):
    """Base of all exceptions of rstream.

    Attributes:
        code: stable text for programs, such as ``"RST_EINVAL"``.
        hint: what to do about it; may be empty.
        detail: ``errno`` or the driver's error code; 0: none.
    """

    default_code: ClassVar[str] = "RSTREAM"
    default_hint: ClassVar[str] = ""

    code: str
    hint: str
    detail: int

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        hint: str | None = None,
        detail: int = 0,
    ) -> None:
        super().__init__(message)
        self.code = self.default_code if code is None else code
        self.hint = self.default_hint if hint is None else hint
        self.detail = detail

    def __str__(self) -> str:
        text = str(self.args[0]) if self.args else ""
        return f"{text}; {self.hint}" if self.hint else text


class ConfigError(RStreamError, ValueError):
    """A setting is wrong; nothing was opened."""

    default_code = "RST_EINVAL"


class ChannelError(ConfigError):
    """A channel is malformed, or its parameters contradict each other."""

    default_code = "RST_ECHANNEL"


class NameTaken(ConfigError):
    """Another living endpoint has registered the name with ``rstream.ray.reader``."""

    default_code = "RST_NAME_TAKEN"


class NotSupported(ConfigError):
    """The setting is known, but this release does not serve it."""

    default_code = "RST_ENOTSUP"


class DriverError(RStreamError):
    """Base of the errors of the media driver."""

    default_code = "RST_EDRIVER"


class DriverNotFound(DriverError):
    """No media driver is alive in the directory."""

    default_code = "RST_ENODRIVER"


class DriverTimeout(DriverError, TimeoutError):
    """The media driver did not answer in time."""

    default_code = "RST_ETIMEDOUT"


class DriverLost(DriverError):
    """The media driver died or was shut down; open a new client."""

    default_code = "RST_EDRIVERLOST"


class ClientTimedOut(DriverLost):
    """The media driver got no heartbeat from this client for too long and gave it up."""

    default_code = "RST_ECLIENTTIMEOUT"


class DriverInUse(DriverError):
    """The directory has a living driver already, or an address is taken."""

    default_code = "RST_EINUSE"


class DriverAccess(DriverError, PermissionError):
    """The driver directory may not be used by this user."""

    default_code = "RST_EACCESS"


class RegistrationError(DriverError):
    """The media driver refused a publication or subscription; ``detail`` is its error code."""

    default_code = "RST_EREGISTRATION"


class VersionMismatch(DriverError):
    """The other side uses a layout that this release does not know."""

    default_code = "RST_EVERSION"


class StorageError(DriverError):
    """Not enough shared memory, disk or memory; the text names the size needed.

    Attributes:
        needed: bytes that the next term of a publisher's log needs; 0: not known here.
        missing: how many of them the driver directory does not have.
        held_by: ``"storage"`` (:class:`rstream.HeldBy`), as in :class:`BackPressured`.
    """

    default_code = "RST_ESTORAGE"

    needed: int = 0
    missing: int = 0
    held_by: HeldBy = HeldBy.STORAGE


class TransportError(RStreamError):
    """Base of the errors of a stream.

    Attributes:
        channel, stream_id, session_id: the stream; None: not known.
        position: in bytes of the stream; None: not known.
    """

    default_code = "RST_TRANSPORT"

    channel: str | None
    stream_id: int | None
    session_id: int | None
    position: int | None

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        hint: str | None = None,
        detail: int = 0,
        channel: str | None = None,
        stream_id: int | None = None,
        session_id: int | None = None,
        position: int | None = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint, detail=detail)
        self.channel = channel
        self.stream_id = stream_id
        self.session_id = session_id
        self.position = position


class NotConnected(TransportError):
    """No subscriber is connected."""

    default_code = "RST_NOT_CONNECTED"


class NoServer(NotConnected):
    """Nobody serves requests of this name: no server was there within the time-out."""

    default_code = "RST_NO_SERVER"


class NoReader(NotConnected):
    """Nobody has registered a reading end of this name with ``rstream.ray.reader`` in time."""

    default_code = "RST_NO_READER"


class BackPressured(TransportError):
    """There is no room: readers, their demand, rate or budget hold the publisher back.

    Attributes:
        held_by: what held the message back: ``"window"``, ``"demand"``, ``"rate"`` or ``"budget"``
            (:class:`rstream.HeldBy`).
    """

    default_code = "RST_BACK_PRESSURED"

    held_by: HeldBy = HeldBy.WINDOW


class MaxPositionExceeded(TransportError):
    """The stream has used all its positions (2**31 terms); open a new publication."""

    default_code = "RST_MAX_POSITION_EXCEEDED"


class MessageTooLarge(TransportError, ValueError):
    """The message is longer than ``max_message_length``: 1 GiB unless set; without a name an eighth
    of the term, at most 16 MiB.
    """

    default_code = "RST_ETOOLARGE"


class ClosedError(TransportError):
    """It was closed on this side."""

    default_code = "RST_ECLOSED"
    default_hint = "open a new one, or close this one later"


class PublisherLost(TransportError):
    """A publisher vanished without completing its stream: it died, or its host is unreachable."""

    default_code = "RST_PUBLISHER_LOST"


class RemoteError(TransportError):
    """The other end failed: the publisher ended its stream with an error, or the last reader left
    with one. The text is its own.

    An error of a publisher or of a server whose class is known here (a builtin, or one of
    :func:`register`) is an instance of that class too, so ``except ValueError`` catches it. What
    caused it is its ``__cause__`` or ``__context__``. Its notes end with its traceback there.
    Nothing is unpickled.

    Attributes:
        remote_type: the name of its class there; empty: only a text has arrived.
        remote_message: its message there.
        remote_notes: the notes that it had there.
        remote_traceback: the frames of its traceback there, as text; its middle is cut out when
            it is long.
    """

    default_code = "RST_REMOTE"

    remote_type: str = ""
    remote_message: str = ""
    remote_notes: tuple[str, ...] = ()
    remote_traceback: str = ""


class ServerLost(TransportError):
    """The server closed or died before it answered; it may have carried the request out or not."""

    default_code = "RST_SERVER_LOST"


class RequestTimeout(TransportError, TimeoutError):
    """No answer came within ``timeout_s``; the server was told to give the request up."""

    default_code = "RST_REQUEST_TIMEOUT"


class StreamEnded(TransportError, EOFError):
    """``get`` was called after the last message: every publisher has completed the stream."""

    default_code = "RST_STREAM_ENDED"


class ReadTimeout(TransportError, TimeoutError):
    """No message came within the ``timeout_s`` of ``get``."""

    default_code = "RST_READ_TIMEOUT"


class SlowConsumer(TransportError):
    """More messages wait than the policy of the subscriber allows."""

    default_code = "RST_SLOW_CONSUMER"


class MessagesLost(TransportError):
    """Messages are lost, or may be.

    A reader raises it when its group went on without it, because it was too slow, or when it comes
    back after the death of its driver and has missed some. ``wait_consumed`` of a publisher raises
    it when a driver ended, or the last reader left, with messages that it may not have consumed. So
    does the block of a publisher of shared work at its end, if something was not acknowledged.

    Attributes:
        gap: what is lost, as ``events()`` of the reader or publisher tells it; None: not known.
    """

    default_code = "RST_MESSAGES_LOST"

    gap: Gap | None = None


class CorruptError(TransportError):
    """The content contradicts its header."""

    default_code = "RST_ECORRUPT"


class NameMismatch(TransportError):
    """Two streams with different names have the same stream id on one channel."""

    default_code = "RST_NAME_MISMATCH"


class ContractError(RStreamError):
    """A rule of Reactive Streams was broken; the text names it."""

    default_code = "RST_CONTRACT"


class LocalContractError(ContractError):
    """Code of this process broke the rule."""


class RemoteContractError(ContractError):
    """The peer broke the rule."""


class ConcurrentUseError(RStreamError, RuntimeError):
    """Two threads use an object that serves one at a time."""

    default_code = "RST_EBUSY"


class ForkedError(RStreamError, RuntimeError):
    """The object was made before ``fork`` and used in the child; make clients after the fork."""

    default_code = "RST_EFORKED"


class CodecError(RStreamError, ValueError):
    """A value cannot be encoded, or bytes cannot be decoded."""

    default_code = "RST_CODEC"


class SystemCallError(RStreamError):
    """The operating system refused something; ``detail`` is ``errno``."""

    default_code = "RST_ESYS"


#: The exception for each error code of the C core.
BY_CODE: Final[dict[str, type[Exception]]] = {
    "RST_EINVAL": ConfigError,
    "RST_ECHANNEL": ChannelError,
    "RST_ENOMEM": StorageError,
    "RST_ESYS": SystemCallError,
    "RST_ENODRIVER": DriverNotFound,
    "RST_EDRIVERLOST": DriverLost,
    "RST_ETIMEDOUT": DriverTimeout,
    "RST_EVERSION": VersionMismatch,
    "RST_EINUSE": DriverInUse,
    "RST_ESTORAGE": StorageError,
    "RST_EACCESS": DriverAccess,
    "RST_ECLOSED": ClosedError,
    "RST_EREGISTRATION": RegistrationError,
    "RST_EFORKED": ForkedError,
    "RST_EBUSY": ConcurrentUseError,
    "RST_ETOOLARGE": MessageTooLarge,
    "RST_ENOTSUP": NotSupported,
    "RST_ECORRUPT": CorruptError,
    "RST_ECLIENTTIMEOUT": ClientTimedOut,
    "RST_EUNKNOWNHOST": ChannelError,
    "RST_EFULL": TransportError,
}
