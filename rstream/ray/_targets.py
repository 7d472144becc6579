"""Where a write task of Ray Data writes: a value that is pickled to it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from rstream.errors import ConfigError
from rstream.ray._group import Group
from rstream.ray._handle import StreamHandle, handles_of
from rstream.ray._names import handle

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rstream.channel import Channel
    from rstream.ray._group import FlowControl
    from rstream.stream import Publisher

#: The codec of what Ray Data writes.
CODEC = "arrow"
#: How long a task looks for a name where its options do not say.
FIND_S = 10.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Target:
    """Handles, or the name of an endpoint, or the name of a stream and its channel.

    Attributes:
        handles: more than one: a group of them.
        name: if there are no handles.
        channel: of the named stream; empty: it is the name of an endpoint.
        flow_control, tagged: of the group.
        is_group: also of one handle.
        dir: driver directory; None: the default.
        options: of the publishers.
    """

    handles: tuple[StreamHandle, ...] = ()
    name: str = ""
    channel: str = ""
    flow_control: FlowControl = "min"
    tagged: tuple[StreamHandle, ...] = ()
    is_group: bool = False
    dir: str | None = None
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])

    @property
    def reaches_all_nodes(self) -> bool:
        """Whether a task on any node can write there."""
        if self.handles:
            return all(one.udp_channel for one in self.handles)
        return not self.channel.startswith("aeron:ipc")

    def writers(self) -> list[Publisher[Any]]:
        """A writer for each reader; raises as :meth:`open`."""
        if self.is_group:
            return [one.publisher(driver_dir=self.dir, **self.options) for one in self.handles]
        return [self._open_one()]

    def open(self) -> Publisher[Any] | Group:
        """The writing end, opened in the task.

        Raises:
            NoReader: no endpoint has the name. ConfigError: its codec is another one.
            DriverError: there is no driver, or it refused the channel.
        """
        if self.is_group:
            return Group(
                self.handles,
                flow_control=self.flow_control,
                tagged=self.tagged,
                driver_dir=self.dir,
                **self.options,
            )
        return self._open_one()

    def _open_one(self) -> Publisher[Any]:
        if self.channel:
            from rstream import stream

            return stream.publisher(
                self.name, codec=CODEC, channel=self.channel, dir=self.dir, **self.options
            )
        if self.handles:
            found = self.handles[0]
        else:
            wait_s = self.options.get("connect_timeout_s", FIND_S)
            found = handle(self.name, timeout_s=FIND_S if wait_s is None else wait_s)
            _check_codec(found)
        return found.publisher(driver_dir=self.dir, **self.options)


def target_of(
    target: StreamHandle | str | Group | Iterable[StreamHandle],
    channel: Channel | str | None,
    dir: str | None,
    options: Mapping[str, Any],
) -> Target:
    """The target that the arguments of :func:`rstream.ray.datasink` name.

    Raises:
        ConfigError: they do not fit together, or a reader has another codec.
    """
    if isinstance(target, str) and target.strip().startswith("rstream://"):
        target = StreamHandle.from_text(target)
    if isinstance(target, str):
        uri = "" if channel is None else str(channel)
        return Target(name=target, channel=uri, dir=dir, options=options)
    if channel is not None:
        raise ConfigError(f"channel={str(channel)!r}: only with the name of a stream as the target")
    if isinstance(target, Group):
        law, tagged = target.settings
        found = Target(
            handles=tuple(target.members),
            flow_control=law,
            tagged=tuple(tagged),
            is_group=True,
            dir=dir,
            options=options,
        )
    else:
        is_one = isinstance(target, StreamHandle)
        found = Target(
            handles=tuple(handles_of(target)), is_group=not is_one, dir=dir, options=options
        )
    if not found.handles:
        raise ConfigError("the target of a datasink has no handle")
    for one in found.handles:
        _check_codec(one)
    return found


def _check_codec(one: StreamHandle) -> None:
    if one.codec != CODEC:
        raise ConfigError(
            f"stream {one.name!r}: its reader has the codec {one.codec}, and Ray Data writes Arrow "
            "record batches",
            hint='open it with rstream.ray.reader(codec="arrow"), or type=pandas.DataFrame',
        )
