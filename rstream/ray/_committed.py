"""Reading ends for the rows of Spark's sink, which hand them out when Spark has committed them.

A function beside ``reader``: the ledger and the staged rows mean something to Spark's writers
alone, an item is a record batch, and a policy that drops items would break what they promise. The
handle says that its reader commits, so the sink refuses another one before it sends a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from rstream.codecs._internal import choose_for_handle, limited
from rstream.errors import ConfigError
from rstream.ledger._internal import STAGING_BYTES, CommittedReading
from rstream.ray._handle import COMMITTED
from rstream.ray._ledger import ActorLedger
from rstream.ray._open import open_endpoint
from rstream.ray._reader_options import settings

if TYPE_CHECKING:
    from rstream.codecs import CodecLike
    from rstream.ledger import Ledger
    from rstream.ray._endpoint import Endpoint
    from rstream.ray._handle import StreamHandle
    from rstream.ray._reader_options import EndpointOptions
    from rstream.stream._internal import Reading


def committed_reader(
    name: str | None = None,
    *,
    codec: CodecLike = "arrow",
    ledger: Ledger | None = None,
    staging_bytes: int = STAGING_BYTES,
    **options: Unpack[EndpointOptions],
) -> Endpoint:
    """Open a reading end for the rows of Spark's sink: it hands each row out once, when Spark has
    committed it (``delivery="committed"``, the sink's default).

    Each item is a ``pyarrow.RecordBatch``; :func:`rstream.spark.marks_of` tells where it comes
    from. Batches of other writers are handed out as they come.

    Args:
        name: as for :func:`rstream.ray.reader`.
        codec: ``"arrow"``, or :func:`rstream.codecs.arrow` with a schema.
        ledger: what remembers rows and commits (:mod:`rstream.ledger`). None: memory, until this
            end is closed; what it had not consumed when it dies is lost.
        staging_bytes: most bytes of rows that wait for their commit; more is refused to the writer
            (256 MiB).
        options: as for :func:`rstream.ray.reader`, described by ``EndpointOptions``.
    Returns:
        An :class:`Endpoint`, as of :func:`rstream.ray.reader`.
    Raises:
        ConfigError: an argument cannot be used; the codec makes no record batches; or the ledger
            cannot be used, or ends with the actor that opens the reader.
        Exception: as :func:`rstream.ray.reader`.

    Example::

        ledger = rstream.ledger.FileLedger("/var/lib/rows.ledger")
        self.end = rstream.ray.committed_reader("rows", ledger=ledger)  # in an actor
        self.end.start(self.on_batch)
    """
    chosen = settings("committed_reader", options, "name", "codec", "ledger", "staging_bytes")
    reader_codec, codec_name = choose_for_handle(None, codec)
    where = "" if name is None else f"stream {name!r}: "
    form = getattr(reader_codec, "form", "")
    if form != "batch":
        raise ConfigError(
            f"{where}codec={codec!r} hands out {form or codec_name} objects, and Spark's rows are "
            "record batches",
            hint='leave codec out, or give codec="arrow"; for other items use rstream.ray.reader',
        )
    if isinstance(ledger, ActorLedger) and ledger.ends_with_this_actor:
        raise ConfigError(
            f"{where}this actor made the ActorLedger itself, so it ends with the actor and "
            "remembers nothing for the next one",
            hint='give it a name, ActorLedger("rows"), which a restarted actor finds again; or '
            "make it in the program that starts the actor, and pass it on",
        )

    def staged(
        source: Reading[Any], handle: StreamHandle, channels: dict[str, str]
    ) -> Reading[Any]:
        return CommittedReading(
            source,
            name=handle.name,
            stream_id=handle.stream_id,
            channels=channels,
            dir=handle.driver_dir,
            ledger=ledger,
            staging_bytes=staging_bytes,
        )

    reader_codec = limited(reader_codec, chosen.limits)
    return open_endpoint(
        name, reader_codec, codec_name, chosen, delivery=COMMITTED, in_front=staged
    )
