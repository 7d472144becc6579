"""The keyword options that every way to open a publisher or a subscriber shares.

Each option is documented once, in the ``TypedDict`` that the signatures unpack, and has its default
once, in the dataclass below it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar

from rstream import policy
from rstream._keywords import unknown_keyword
from rstream._session import check_client
from rstream.errors import ConfigError
from rstream.flow.chunk import MOST
from rstream.stream._parts import MESSAGE_LENGTH, check_message_length

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rstream.channel import Channel
    from rstream.client import Client
    from rstream.codecs import Limits
    from rstream.keys import KeyLike
    from rstream.rate import RateLimit
    from rstream.stream._reading._gaps import OnGap
    from rstream.stream._reading._report import OnLost

SettingsT = TypeVar("SettingsT", "PublisherSettings", "SubscriberSettings")

#: How far a reader's demand goes: a number of messages, or as many as the stream needs.
Prefetch: TypeAlias = int | Literal["auto"]

#: Most messages handed over at once under ``"auto"``. From 64 on the speed is within 15 % of the
#: best (docs/reference/performance.md).
PREFETCH = 256


class SendOptions(TypedDict, total=False):
    """How a publisher sends; all of them may be left out.

    Attributes:
        connect_timeout_s: seconds that ``send`` waits for a subscriber while none is there (10).
            None: for ever; and in shared memory ``close`` waits for one, up to ``linger_s``, if the
            last one has left data unread. If none comes, the ``with`` block raises
            :class:`MessagesLost`.
        wait_for: subscribers that must be there before the first message is sent (1). More than 1
            in shared memory, or with ``flow_control="min"`` or ``"tagged"``, which count receivers.
        linger_s: seconds that ``close`` waits for the readers (5).
        rate: how fast it may send, such as ``rate.Fixed("200MB/s")`` or ``rate.Adaptive()``
            (:mod:`rstream.rate`), whatever the channel says. None (default): as the channel says,
            else as the driver's option ``rate`` says, else ``Adaptive()``: it follows its readers.
        max_message_length: longest object that it sends, in bytes when encoded (1 GiB; at most 2
            GiB - 1). Objects longer than an eighth of a term travel in parts. A stream without a
            name takes no more than that eighth.
    """

    connect_timeout_s: float | None
    wait_for: int
    linger_s: float
    rate: RateLimit | None
    max_message_length: int


class PublisherOptions(SendOptions, total=False):
    """Keywords of :func:`rstream.publisher` and of everything that opens one.

    They are those of :class:`SendOptions` and the following; all may be left out.

    Attributes:
        channel: the channel to send on. None (default): shared memory. In UDP the endpoint is the
            *reader's* address.
        stream_id: replaces the stream id made from the name.
        cc: ``"path"``: over UDP to one reader the sender follows the path (docs/reference/
            channels.md). ``"static"``: the reader's window alone limits it. None (default): as the
            channel says, else as the driver's option ``follow-path`` says: it follows.
        mtu: longest datagram over UDP, in bytes, 64 to 65504, or a text such as ``"8k"``. None
            (default): as the channel says, else as the driver's option ``mtu-length`` says.
        key: what seals the datagrams over UDP (:mod:`rstream.keys`): a ``GroupKey``,
            ``"file:PATH"``, ``"env:NAME"``, or None: they are plain. ``"default"``: as the channel
            says, else ``$RSTREAM_KEY_FILE``, else plain.
        dir: driver directory. None (default): ``$RSTREAM_DIR``, else
            ``/dev/shm/rstream-<user>``.
        client: use this client instead of the process's own. Then a lost driver is an error, and
            the publisher does not join again.
    """

    channel: Channel | str | None
    stream_id: int | None
    cc: str | None
    mtu: int | str | None
    key: KeyLike
    dir: str | None
    client: Client | None


class SubscriberOptions(TypedDict, total=False):
    """Keywords of :func:`rstream.subscriber` and of everything that opens one; all may be left out.

    Attributes:
        channel: the channel to read. None (default): shared memory. In UDP the endpoint is the
            address to bind here.
        stream_id: replaces the stream id made from the name.
        rcv_wnd: how far a publisher may be ahead of this reader over UDP, in bytes, 256 to 1 GiB,
            or a text such as ``"8m"``; at most half a term. A socket that is granted less bounds it
            (docs/reference/channels.md). None (default): as the channel says, else what this reader
            and the path need, up to half a term; 128 KiB in a group, and for a publisher that does
            not follow the path.
        cc: the law of that window over UDP: ``"static"``, ``"cubic"`` or ``"auto"``. None
            (default): as the channel says, else as the driver's option ``congestion-control`` says.
        key: as for :func:`rstream.publisher`: what seals the datagrams over UDP.
        sources: addresses and networks whose datagrams are taken over UDP, such as
            ``["10.0.0.0/8", "192.168.1.7"]``, for streams without keys; an address can be forged by
            who shares the network. None (default): as the channel says, else those that the
            driver's option ``sources`` takes, else all.
        prefetch: most messages that publishers are asked for ahead of what this reader has
            consumed, and that are handed over at once; 1 to 65536. ``"auto"`` (default) asks for
            512 to 65536, as the drain and the round trip need it, and hands over 256 at once.
            :func:`rstream.stream.source` tells what was requested, and never more than a number
            given here. What ``poll`` and ``get`` return counts as consumed; a loop's items count
            when it asks for more, and in parts of at most 32 when it is slow.
        on_slow: what happens when this consumer is slower than the publishers
            (:mod:`rstream.policy`; default: ``Block()``).
        on_lost: what happens when a publisher vanishes without completing the stream, fails, or
            sends what this reader cannot use. ``"raise"`` (default) raises
            :class:`rstream.errors.PublisherLost`, ``RemoteError``, ``NameMismatch`` or
            ``CodecError`` once, which ends a ``for`` loop; a new loop goes on with the other
            publishers. ``"event"`` only adds an event (:class:`Lost`, :class:`Failed`,
            :class:`Refused`) and logs it, for streams whose publishers come and go: the error of
            one then concerns none of the others.
        on_gap: what happens when messages are lost to this reader: a group has gone on without it
            (``fc=max``, the default of groups), or it was away while others read on (its process
            stood still, its driver died). ``"raise"`` (default) raises
            :class:`rstream.errors.MessagesLost` behind the last message before the gap; the next
            poll goes on behind it. ``"resume"`` only adds a :class:`Gap` event. A function gets
            the :class:`Gap` and may return objects, such as a snapshot, which are handed out in
            its place; it runs in the thread that reads.
        stays: whether it waits for the next publisher when every one seen has completed. False
            (default): then a loop ends, ``get`` raises :class:`rstream.errors.StreamEnded`, and a
            reactive source completes. True: only ``close`` ends it. ``on_lost`` tells of a
            publisher that dies or fails, as without it.
        max_message_length: longest message that is put together from its parts, in bytes (1 GiB; at
            most 2 GiB - 1). A longer one is skipped, which counts as a message that this reader
            cannot use: ``on_lost``. One that came whole is handed out. Parts come to memory of
            their own, one message of each publisher at a time.
        limits: what decoding one message may take (:class:`rstream.codecs.Limits`); a message that
            would become more is one that this reader cannot use: ``on_lost``. None: as the codec
            says, 1 GiB unless set.
        dir: driver directory. None (default): ``$RSTREAM_DIR``, else
            ``/dev/shm/rstream-<user>``.
        client: use this client instead of the process's own. Then a lost driver is an error, and
            the subscriber does not join again.
    """

    channel: Channel | str | None
    stream_id: int | None
    rcv_wnd: int | str | None
    cc: str | None
    key: KeyLike
    sources: str | Sequence[str] | None
    prefetch: Prefetch
    on_slow: policy.SlowPolicy
    on_lost: OnLost
    on_gap: OnGap
    stays: bool
    max_message_length: int
    limits: Limits | None
    dir: str | None
    client: Client | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherSettings:
    """:class:`PublisherOptions` with the default of each option that was left out."""

    connect_timeout_s: float | None = 10.0
    wait_for: int = 1
    linger_s: float = 5.0
    rate: RateLimit | None = None
    max_message_length: int = MESSAGE_LENGTH
    channel: Channel | str | None = None
    stream_id: int | None = None
    cc: str | None = None
    mtu: int | str | None = None
    key: KeyLike = "default"
    dir: str | None = None
    client: Client | None = None

    def __post_init__(self) -> None:
        check_message_length(self.max_message_length)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriberSettings:
    """:class:`SubscriberOptions` with the default of each option that was left out."""

    channel: Channel | str | None = None
    stream_id: int | None = None
    rcv_wnd: int | str | None = None
    cc: str | None = None
    key: KeyLike = "default"
    sources: str | Sequence[str] | None = None
    prefetch: Prefetch = "auto"
    on_slow: policy.SlowPolicy = policy.Block()
    on_lost: OnLost = "raise"
    on_gap: OnGap = "raise"
    stays: bool = False
    max_message_length: int = MESSAGE_LENGTH
    limits: Limits | None = None
    dir: str | None = None
    client: Client | None = None

    def __post_init__(self) -> None:
        check_prefetch(self.prefetch)
        check_message_length(self.max_message_length)


def check_prefetch(prefetch: object) -> None:
    """Refuse what is no :data:`Prefetch`.

    Raises:
        ConfigError: says what it must be.
    """
    number = prefetch if isinstance(prefetch, int) and prefetch is not True else 0
    if prefetch != "auto" and not 1 <= number <= MOST:
        raise ConfigError(
            f'prefetch={prefetch!r}: must be "auto" or a number of messages, 1 to {MOST}'
        )


def settings(
    kind: type[SettingsT], function: str, options: Mapping[str, Any], *others: str
) -> SettingsT:
    """The options with their defaults.

    Args:
        kind: :class:`PublisherSettings` or :class:`SubscriberSettings`.
        function: the name of the function that was called, for the error.
        options: the keywords that it was called with, without those that it takes itself.
        others: those that it takes itself, for the error.
    Raises:
        TypeError: an option has a name that is not known.
        ConfigError: ``client`` is none; the other values are checked where they are used.
    """
    known = [field.name for field in fields(kind)]
    for name in options:
        if name not in known:
            raise unknown_keyword(function, name, [*others, *known])
    chosen = kind(**options)
    check_client(chosen.client)
    return chosen
