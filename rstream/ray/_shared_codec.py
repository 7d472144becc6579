"""The codec that all members of a group or a pool have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rstream.codecs._internal import choose_of_handle
from rstream.errors import ConfigError, NotConnected
from rstream.ray._handle import WORK_PREFIX, handles_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rstream.codecs import Codec, CodecLike, Encoded
    from rstream.ray._handle import StreamHandle


class SharedCodec:
    """A codec that the first member chooses, and that the others must have too.

    Args:
        title: of the group or pool, for people.
        type, codec: as for :meth:`StreamHandle.publisher`.
    """

    codec_id = 0  # of no message: members are compared by the names in their handles

    def __init__(self, title: str, type: Any, codec: CodecLike) -> None:
        self._title = title
        self._given = type, codec
        self._chosen: Codec[Any] | None = None
        self._name = ""

    def check(self, handle: StreamHandle) -> None:
        """Choose by the first handle, and compare the others.

        Raises:
            ConfigError: no handle, or it has another codec than the others.
        """
        handles_of([handle])
        if self._chosen is None:
            name = handle.codec.removeprefix(WORK_PREFIX)
            self._chosen = choose_of_handle(name, *self._given)
            self._name = handle.codec
        if handle.codec != self._name:
            raise ConfigError(
                f"stream {handle.name!r}: its reader has the codec {handle.codec}, and "
                f"{self._title} writes {self._name}: an item is encoded once for all members"
            )

    def encode(self, obj: Any) -> Encoded:
        """Encode an item. Raises NotConnected before there was a member."""
        return self._codec.encode(obj)

    def decode_many(self, messages: Sequence[bytes]) -> list[Any]:
        """The items of messages."""
        return self._codec.decode_many(messages)

    @property
    def _codec(self) -> Codec[Any]:
        if self._chosen is None:
            raise NotConnected(f"{self._title}: it has no member", hint="add(handle) takes one in")
        return self._chosen
