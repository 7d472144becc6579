"""The options of the source, checked before anything is read."""

from __future__ import annotations

import dataclasses
from typing import Final

from rstream._link_options import with_link_options
from rstream.codecs import Limits
from rstream.codecs._internal import DECODED_BYTES, LIMITS, ROWS
from rstream.errors import ConfigError
from rstream.spark._options import SPARK_OPTIONS, choice, number, unknown

WHO: Final = "rstream source"

READ_OPTIONS: Final = {
    "stream": "the stream's name; load(name) does the same",
    "channel": "the channel to read, as a URI; default: shared memory of this host",
    "key": "over UDP: file:PATH, env:NAME, or none: the key that the publishers have",
    "rcvwnd": "over UDP: how far a publisher may be ahead, bytes or a text such as 8m; default: as "
    "for rstream.subscriber",
    "cc": "over UDP: the law of that window, static, cubic or auto; default: the driver's",
    "codec": "what the messages are: msgpack (default with a schema): a row each; arrow: record "
    "batches; raw (default without a schema): bytes, in the column value",
    "driverdir": "driver directory; default: as for rstream.subscriber",
    "ongap": "fail (default): messages that are lost to the query fail it, once; report: a warning",
    "spooldir": "readStream: a folder of this query, on a disk of the host that drives Spark",
    "spoolbytes": "readStream: bytes that may wait for Spark; then publishers wait (default 256 "
    "MiB)",
    "tasks": "readStream: local (default): tasks run on the host that drives Spark, and read the "
    "spool's file; anywhere: rows travel with the plan of a micro-batch",
    "maxrowspertrigger": "readStream: most rows of a micro-batch (default: what is there)",
    "maxbytespertrigger": "readStream: most bytes of a micro-batch (default: what is there)",
    "maxdecodedbytes": "most bytes that decoding one message may take (default 1 GiB)",
    "maxdecodedrows": "most rows that one message may claim without bytes for them (default "
    "16777216)",
    "maxmessages": "read: ends after so many messages",
    "idletimeout": "read: ends when so many seconds brought nothing",
}
STREAM_ONLY: Final = (
    "spooldir",
    "spoolbytes",
    "tasks",
    "maxrowspertrigger",
    "maxbytespertrigger",
)
BATCH_ONLY: Final = ("maxmessages", "idletimeout")
CODECS: Final = ("msgpack", "arrow", "raw")
SPOOL_BYTES: Final = 256 << 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SourceConfig:
    """The source's options, checked. Zero rows, bytes or messages: no limit."""

    stream: str
    channel: str | None = None
    codec: str | None = None
    driver_dir: str | None = None
    fails_on_gap: bool = True
    spool_dir: str = ""
    spool_bytes: int = SPOOL_BYTES
    sends_rows: bool = False
    rows_max: int = 0
    bytes_max: int = 0
    limits: Limits = LIMITS
    messages_max: int = 0
    idle_s: float | None = None

    @classmethod
    def from_options(cls, options: dict[str, str], *, is_stream: bool) -> SourceConfig:
        """Check Spark's option strings (case-insensitive names).

        Args:
            options: the names and their texts.
            is_stream: for ``readStream``, not ``read``.
        Raises:
            ConfigError: an option is missing, unknown, wrong or for the other way of reading; the
                text names the allowed values.
        """
        given = {key.lower(): value for key, value in options.items()}
        for key in given.keys() - READ_OPTIONS.keys() - SPARK_OPTIONS:
            raise ConfigError(unknown(key, READ_OPTIONS, WHO))
        for key in BATCH_ONLY if is_stream else STREAM_ONLY:
            if key in given:
                raise ConfigError(
                    f'{WHO}: option "{key}" is for {"read" if is_stream else "readStream"}'
                )
        stream = given.get("stream") or given.get("path")
        if not stream:
            raise ConfigError(f'{WHO}: option "stream" is missing: give the name of the stream')
        if is_stream and not given.get("spooldir"):
            raise ConfigError(
                f'{WHO}: option "spoolDir" is missing: give a folder for this query alone, on a '
                "disk of the host that drives Spark; beside the checkpoint is a good place"
            )
        codec = choice(given, "codec", CODECS, WHO) if "codec" in given else None
        has_idle = "idletimeout" in given
        return cls(
            stream=stream,
            channel=_channel(given),
            codec=codec,
            driver_dir=given.get("driverdir"),
            fails_on_gap=choice(given, "ongap", ("fail", "report"), WHO) == "fail",
            spool_dir=given.get("spooldir", ""),
            spool_bytes=number(given, "spoolbytes", str(SPOOL_BYTES), int, who=WHO),
            sends_rows=choice(given, "tasks", ("local", "anywhere"), WHO) == "anywhere",
            rows_max=number(given, "maxrowspertrigger", "0", int, least=0, who=WHO),
            bytes_max=number(given, "maxbytespertrigger", "0", int, least=0, who=WHO),
            limits=Limits(
                decoded_bytes=number(given, "maxdecodedbytes", str(DECODED_BYTES), int, who=WHO),
                rows=number(given, "maxdecodedrows", str(ROWS), int, who=WHO),
            ),
            messages_max=number(given, "maxmessages", "0", int, least=0, who=WHO),
            idle_s=number(given, "idletimeout", "0", float, who=WHO) if has_idle else None,
        )


def _channel(given: dict[str, str]) -> str | None:
    """The channel with the options of its link."""
    try:
        channel = with_link_options(
            given.get("channel"),
            is_publisher=False,
            rcv_wnd=given.get("rcvwnd"),
            cc=given.get("cc"),
            key=given.get("key", "default"),
        )
    except ConfigError as error:
        raise ConfigError(f"{WHO}: {error}") from None
    return None if channel is None else str(channel)
