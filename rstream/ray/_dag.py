"""Edges of Ray's Compiled Graphs over rstream. Alpha, as Ray's interface for channels is.

The process of the writing end asks each reading actor to open an endpoint when the graph is
compiled, before the actors' loops begin. So a channel that travels to them has the handles already,
and no end waits for another one to open. It imports ``ray.experimental``, so it is imported at
first use only.
"""

# ray has no strict types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false

from __future__ import annotations

import threading
import uuid
from typing import TYPE_CHECKING, Any, Final

import ray
from ray.exceptions import RayChannelError, RayChannelTimeoutError
from ray.experimental.channel.common import ChannelInterface, ChannelOutputType

from rstream import codecs
from rstream.errors import BackPressured, ConfigError, ReadTimeout, RStreamError
from rstream.ray._cluster import class_name
from rstream.ray._open import reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rstream.ray._endpoint import Endpoint
    from rstream.ray._handle import StreamHandle
    from rstream.stream import Publisher

#: How long an actor has to open its endpoint.
OPEN_S: Final = 60.0
#: Ray's stand-in for the driver program among the readers.
PROXY: Final = "DriverProxy"

#: The endpoints of this process, by the key of their channel.
_endpoints: dict[str, Endpoint] = {}


def _open_endpoint(actor: Any, key: str, trusted_network: bool, dir: str | None) -> StreamHandle:
    """Open the reading end of a channel in this actor; its first argument is the actor."""
    codec = codecs.pickle(trusted=True, trusted_network=trusted_network)
    end = reader(codec=codec, udp=trusted_network, trusted_network=trusted_network, dir=dir)
    _endpoints[key] = end
    return end.handle


class RstreamChannelType(ChannelOutputType):
    """The type of an edge; :func:`rstream.ray.through_stream` sets it."""

    def __init__(self, *, trusted_network: bool, dir: str | None) -> None:
        self._trusted_network = trusted_network
        self._dir = dir

    def create_channel(
        self,
        writer: Any,
        reader_and_node_list: Sequence[tuple[Any, str]],
        driver_actor_id: str | None = None,
    ) -> RstreamChannel:
        """Open the reading ends; Ray calls it in the process of the writer.

        Raises:
            ConfigError: a reader is the driver program, or on another node without
                ``trusted_network``.
        """
        key = uuid.uuid4().hex
        context = ray.get_runtime_context()
        own_id: str = context.get_actor_id() or ""
        own_node: str = context.get_node_id()
        asked: dict[str, Any] = {}
        for actor, node in reader_and_node_list:
            actor_id: str = actor._actor_id.hex()
            if actor_id == driver_actor_id or PROXY in class_name(actor_id):
                raise ConfigError(
                    "a rstream channel of a compiled graph is read by actors, and the driver "
                    "program reads this one",
                    hint="leave rstream.ray.through_stream out at the last node",
                )
            if node != own_node and not self._trusted_network:
                raise ConfigError(
                    "a rstream channel of a compiled graph between two nodes carries pickled "
                    "objects over UDP: whoever reaches the port can run code there",
                    hint="say that you trust it: through_stream(node, trusted_network=True)",
                )
            arguments = (key, self._trusted_network, self._dir)
            if actor_id == own_id:  # to ask itself would wait for itself
                asked[actor_id] = _open_endpoint(actor, *arguments)
            else:
                asked[actor_id] = actor.__ray_call__.remote(_open_endpoint, *arguments)
        handles = {
            actor_id: ray.get(one, timeout=OPEN_S) if isinstance(one, ray.ObjectRef) else one
            for actor_id, one in asked.items()
        }
        return RstreamChannel(key, handles)


class RstreamChannel(ChannelInterface):
    """One writer and its reading actors; a value that Ray sends to all of them.

    The window of the readers says how far the writer may be ahead of them. :meth:`close` may be
    called from any thread and ends :meth:`read` and :meth:`write` of its process.
    """

    def __init__(self, key: str, handles: Mapping[str, StreamHandle]) -> None:
        self._key = key
        self._handles = dict(handles)
        self._lock = threading.Lock()
        self._publishers: list[Publisher[Any]] = []
        self._sent_to = 0  # of the value that is being written
        self._is_closed = False

    def __reduce__(self) -> Any:
        return RstreamChannel, (self._key, self._handles)

    def ensure_registered_as_writer(self) -> None:
        """Open the writing ends. Idempotent."""
        with self._lock:
            if self._is_closed:
                raise RayChannelError(f"channel {self._key}: closed")
            if not self._publishers:
                self._publishers = [one.publisher() for one in self._handles.values()]

    def ensure_registered_as_reader(self) -> None:
        """Check that this process reads it."""
        if self._key not in _endpoints:
            raise RayChannelError(f"channel {self._key}: closed, or this process does not read it")

    def write(self, value: Any, timeout: float | None = None) -> None:
        """Send a value to all readers; a call after a timeout goes on where it was.

        Raises:
            RayChannelTimeoutError: no room in time. RayChannelError: closed, or a reader is gone.
        """
        self.ensure_registered_as_writer()
        try:
            for publisher in self._publishers[self._sent_to :]:
                publisher.send(value, timeout_s=_seconds(timeout))
                self._sent_to += 1
        except BackPressured as error:
            raise RayChannelTimeoutError(str(error)) from error
        except RStreamError as error:
            raise RayChannelError(str(error)) from error
        self._sent_to = 0

    def read(self, timeout: float | None = None) -> Any:
        """The next value.

        Raises:
            RayChannelTimeoutError: none in time. RayChannelError: closed, or the writer is gone.
        """
        self.ensure_registered_as_reader()
        try:
            return _endpoints[self._key].source.get(timeout_s=_seconds(timeout))
        except ReadTimeout as error:
            raise RayChannelTimeoutError(str(error)) from error
        except (RStreamError, KeyError) as error:
            raise RayChannelError(str(error)) from error

    def close(self) -> None:
        """Close the ends of this process; what was not read is lost. Idempotent."""
        with self._lock:
            self._is_closed = True
        for publisher in self._publishers:
            publisher.close(linger_s=0)
        end = _endpoints.pop(self._key, None)
        if end is not None:
            end.close()


def _seconds(timeout: float | None) -> float | None:
    """Ray's timeouts: None, -1 and infinity are none."""
    return None if timeout is None or timeout in (-1, float("inf")) else max(0.0, timeout)
