"""Ray: reading ends in actors, tasks and programs, and handles that write to them from anywhere.

    # in the reading actor                          # in any other actor, task or program
    self.end = rstream.ray.reader()                 with handle.publisher() as pub:
    self.end.start(self.on_tick)                        pub.send({"px": 1.0})
    return self.end.handle

Items do not travel through actor calls or the object store. See docs/how-to/ray.md.

A name makes an endpoint known, and a handle is also text, for Spark options, the environment and
programs without Ray. It says which host it is on::

    ticks = rstream.ray.reader("ticks")
    handle = rstream.ray.handle("ticks", timeout_s=5)
    handle = rstream.ray.StreamHandle.from_text(str(handle))
    is_here = handle.host_token == rstream.ray.host_token(rstream.driver.resolve_dir())
"""

import rstream.codecs  # pyright: ignore[reportUnusedImport] - decision 90
import rstream.ledger  # pyright: ignore[reportUnusedImport] - decision 90
import rstream.stream  # pyright: ignore[reportUnusedImport] - decision 90
import rstream.work  # noqa: F401  # pyright: ignore[reportUnusedImport] - decision 90
from rstream.ray._committed import committed_reader
from rstream.ray._data import datasink, datasource, iter_batches
from rstream.ray._endpoint import Endpoint
from rstream.ray._group import Group
from rstream.ray._handle import StreamHandle, host_token
from rstream.ray._job_key import job_key
from rstream.ray._ledger import ActorLedger
from rstream.ray._member_events import MemberBack, MemberLost, Missed
from rstream.ray._metrics import export_metrics
from rstream.ray._names import handle
from rstream.ray._open import reader
from rstream.ray._pool import Pool
from rstream.ray._reader_options import EndpointOptions
from rstream.ray._work import WorkItem

__all__ = (
    "ActorLedger",
    "Endpoint",
    "EndpointOptions",
    "Group",
    "MemberBack",
    "MemberLost",
    "Missed",
    "Pool",
    "StreamHandle",
    "WorkItem",
    "committed_reader",
    "datasink",
    "datasource",
    "export_metrics",
    "handle",
    "host_token",
    "iter_batches",
    "job_key",
    "reader",
)
