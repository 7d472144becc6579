"""Channel URIs taken apart and put together again; the values stay as they were written.

The grammar is here and nowhere else. :class:`rstream.channel.Channel` gives the values their types
and limits. Code that only adds or replaces a parameter works on this class instead, so that the
other parameters reach the driver unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rstream.errors import ChannelError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ("ChannelUri", "name_of")

_SPY: Final = "aeron-spy:"
_SCHEME: Final = "aeron:"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelUri:
    """A channel URI; ``str(uri)`` writes it.

    Attributes:
        is_spy: it begins with ``aeron-spy:``.
        media: ``"ipc"`` or ``"udp"``.
        parameters: keys and values in their order.
    """

    is_spy: bool = False
    media: str
    parameters: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, uri: str) -> ChannelUri:
        """Take a URI apart.

        Raises:
            ChannelError: it does not follow the grammar.
        """
        rest = uri.removeprefix(_SPY)
        if not rest.startswith(_SCHEME):
            raise ChannelError(
                f"channel {uri!r}: must begin with 'aeron:udp?' or 'aeron:ipc', for example "
                "'aeron:udp?endpoint=localhost:40123'"
            )
        media, question, query = rest.removeprefix(_SCHEME).partition("?")
        if media not in ("ipc", "udp"):
            raise ChannelError(f"channel {uri!r}: media {media!r} must be 'ipc' or 'udp'")
        if media == "udp" and not question:
            raise ChannelError(f"channel {uri!r}: '?' with parameters must follow 'aeron:udp'")
        parameters: list[tuple[str, str]] = []
        for part in query.split("|") if query else ():
            key, equals, value = part.partition("=")
            if not equals or not key or not value:
                raise ChannelError(f"channel {uri!r}: parameter {part!r} must be key=value")
            parameters.append((key, value))
        return cls(is_spy=rest != uri, media=media, parameters=tuple(parameters))

    def get(self, key: str) -> str | None:
        """The value of a parameter, the last one if the key occurs twice; None: no such key."""
        return dict(self.parameters).get(key)

    @property
    def group_size(self) -> int:
        """How many receivers a publisher waits for (``fc=min,g:/3``); 0: not said."""
        for option in (self.get("fc") or "").split(","):
            if option.startswith("g:") and option.rpartition("/")[2].isdigit():
                return int(option.rpartition("/")[2])
        return 0

    def with_value(self, key: str, value: str) -> ChannelUri:
        """A copy where the parameter has this value; a new parameter goes to the end."""
        if self.get(key) is None:
            return self.with_defaults({key: value})
        changed = tuple((k, value if k == key else old) for k, old in self.parameters)
        return replace(self, parameters=changed)

    def with_defaults(self, values: Mapping[str, str]) -> ChannelUri:
        """A copy with those parameters added at the end that it lacks."""
        given = dict(self.parameters)
        added = tuple((key, value) for key, value in values.items() if key not in given)
        return replace(self, parameters=self.parameters + added)

    def __str__(self) -> str:
        head = f"{_SPY if self.is_spy else ''}{_SCHEME}{self.media}"
        query = "|".join(f"{key}={value}" for key, value in self.parameters)
        return f"{head}?{query}" if query else head


def name_of(channel: str) -> str | None:
    """The stream's name in a channel, also in the label of a counter; None: there is none.

    A label holds 380 bytes and cuts a longer channel off, so it is not parsed.
    """
    return channel.partition("rs-name=")[2].partition("|")[0].partition(" @")[0] or None
