"""What travels between a pool and its members.

A message is what :mod:`rstream.work` puts on a lane, head and encoded item. A member reads it as
any other message of its handle: what it has consumed is done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeAlias, TypeVar

from rstream import policy
from rstream.codecs import raw
from rstream.errors import CodecError, ConfigError
from rstream.ray._handle import WORK_PREFIX
from rstream.work._internal import HEAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rstream.codecs import Codec

T = TypeVar("T")
#: Who gets an item: every reader that is written to, or one of a pool.
Share: TypeAlias = Literal["all", "work"]


def check_share(share: object) -> bool:
    """Whether work is shared.

    Raises:
        ConfigError: it is another word.
    """
    if share not in ("all", "work"):
        raise ConfigError(f'share={share!r}: must be "all" or "work"')
    return share == "work"


@dataclass(frozen=True, slots=True)
class WorkItem(Generic[T]):
    """What a reader with ``share="work"`` hands out.

    Attributes:
        item: the object that the pool was given.
        delivery: 1: it is given to a member for the first time. More: another one had it before,
            and died, failed or left before it was done with it.

    Example::

        def on_item(self, work):
            if not (work.is_redelivered and self.is_stored(work.item)):
                self.store(work.item)
    """

    item: T
    delivery: int

    @property
    def is_redelivered(self) -> bool:
        """Whether another member may have worked on it before."""
        return self.delivery > 1


class WorkItemCodec(Generic[T]):
    """Reads items of shared work; a pool writes them.

    Args:
        inner: the codec of the items.
    """

    def __init__(self, inner: Codec[T]) -> None:
        self.codec_id: int = raw().codec_id
        self._inner = inner

    def encode(self, obj: object) -> NoReturn:
        """Refuses: who sends is the pool."""
        raise CodecError(f"{obj!r}: shared work is sent by rstream.ray.Pool")

    def decode_many(self, messages: Sequence[bytes]) -> list[WorkItem[T]]:
        """One :class:`WorkItem` for each message.

        Raises:
            CodecError: one is too short, or cannot be decoded.
        """
        if any(len(message) < HEAD.size for message in messages):
            raise CodecError(f"a message without the head of shared work ({HEAD.size} bytes)")
        items = self._inner.decode_many([message[HEAD.size :] for message in messages])
        return [
            WorkItem(item, HEAD.unpack_from(message)[2])
            for item, message in zip(items, messages, strict=True)
        ]


def work_codec(inner: Codec[Any], name: str, on_slow: policy.SlowPolicy) -> tuple[Codec[Any], str]:
    """The codec of a member, and its name in the member's handle.

    Raises:
        ConfigError: the policy would count items as done that wait in its queue, or drop them.
    """
    if not isinstance(on_slow, policy.Block):
        raise ConfigError(
            f'share="work" with on_slow={on_slow!r}: an item is done when it is consumed, and this '
            "policy consumes what it queues or drops",
            hint="leave on_slow out: a slow member gets fewer items anyway",
        )
    return WorkItemCodec(inner), f"{WORK_PREFIX}{name}"
