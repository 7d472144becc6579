"""What stands in front of a reader of record batches, so that Spark's sink can commit its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rstream.errors import ConfigError
from rstream.ledger._subscriber import CommittedSubscriber
from rstream.ray._ledger import ActorLedger
from rstream.stream._buffered import BufferedSubscriber

if TYPE_CHECKING:
    from rstream.codecs import Codec
    from rstream.ledger import Ledger
    from rstream.ray._handle import StreamHandle
    from rstream.stream import Subscriber


def committing(
    source: Subscriber[Any],
    handle: StreamHandle,
    codec: Codec[Any],
    *,
    channels: dict[str, str],
    ledger: Ledger | None,
    staging_bytes: int,
) -> Subscriber[Any]:
    """The source, in front of it what Spark's sink needs to commit its rows.

    Args:
        codec: what the source decodes with.
        channels: for each medium (``"ipc"``, ``"udp"``) where writers ask.
    Raises:
        ConfigError: there is a ledger, but no record batches; or the ledger cannot be used, or ends
            with the actor that opens the reader.
    """
    if handle.codec != "arrow":
        if ledger is not None:
            raise ConfigError(
                f"stream {handle.name!r}: ledger= is for the rows of Spark's sink, and the codec "
                f"is {handle.codec}",
                hint='open the reader with codec="arrow"',
            )
        return source
    if isinstance(ledger, ActorLedger) and ledger.ends_with_this_actor:
        raise ConfigError(
            f"stream {handle.name!r}: this actor made the ActorLedger itself, so it ends with the "
            "actor and remembers nothing for the next one",
            hint='give it a name, ActorLedger("rows"), which a restarted actor finds again; or '
            "make it in the program that starts the actor, and pass it on",
        )
    form = getattr(codec, "form", "batch")
    refusal = "" if form == "batch" else f"it hands out {form} objects, not record batches"
    if isinstance(source, BufferedSubscriber):
        refusal = "its on_slow policy may drop rows; open it with on_slow=Block()"
    return CommittedSubscriber(
        source,
        name=handle.name,
        stream_id=handle.stream_id,
        channels=channels,
        dir=handle.driver_dir,
        ledger=ledger,
        staging_bytes=staging_bytes,
        refusal=refusal,
    )
