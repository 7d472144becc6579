"""Ray: stream handles to pass to any actor or task, and reading ends that run in the background.

    # in the reading actor                                  # in any other actor, task or program
    self.end = rstream.ray.open_reader("ticks")             with handle.publisher() as pub:
    self.end.start(self.on_tick)                                pub.send({"px": 1.0})
    return self.end.handle

Items do not travel through actor calls or the object store. See docs/how-to/ray.md.

A handle is also text, for Spark options and the environment, and says which host it is on::

    handle = rstream.ray.StreamHandle.from_text(text)
    is_here = handle.host_token == rstream.ray.host_token(rstream.driver.resolve_dir())
"""

import rstream.codecs  # pyright: ignore[reportUnusedImport] - decision 90
import rstream.ledger  # pyright: ignore[reportUnusedImport] - decision 90
import rstream.stream  # noqa: F401  # pyright: ignore[reportUnusedImport] - decision 90
from rstream.ray._endpoint import Endpoint
from rstream.ray._handle import StreamHandle, host_token
from rstream.ray._ledger import ActorLedger
from rstream.ray._open import open_reader

__all__ = ("ActorLedger", "Endpoint", "StreamHandle", "host_token", "open_reader")
