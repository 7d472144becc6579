"""Ray Data: a sink and a source for its datasets, and batches with demand.

The classes that Ray Data needs are in :mod:`rstream.ray._ray_data`, which is imported at first use:
it imports ``ray.data`` (2 s).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, Unpack
from weakref import WeakKeyDictionary

from rstream._checks import check_seconds, check_timeout, is_whole, short
from rstream.errors import ConfigError
from rstream.ray._rows import Rebatched, check_schema, in_format, table_of
from rstream.ray._targets import Target, target_of
from rstream.ray._wanted import Wanted
from rstream.stream import Subscriber
from rstream.stream._internal import check_name, reading_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rstream.channel import Channel
    from rstream.codecs import CodecLike
    from rstream.ray._endpoint import Endpoint
    from rstream.ray._group import Group
    from rstream.ray._handle import StreamHandle
    from rstream.stream import SendOptions
    from rstream.stream._internal import OnLost

BatchFormat: TypeAlias = Literal["pandas", "pyarrow", "numpy"]

#: Record batches of so many bytes are sent.
BATCH_BYTES: Final = 1 << 20
#: How long a write waits for a reader that makes no progress.
STALL_S: Final = 60.0
NO_RAY_DATA: Final = 'Ray Data is not installed here: pip install "ray[data]"'


def datasink(
    target: StreamHandle | str | Group | Iterable[StreamHandle],
    *,
    channel: Channel | str | None = None,
    dir: str | None = None,
    batch_bytes: int = BATCH_BYTES,
    timeout_s: float | None = STALL_S,
    **options: Unpack[SendOptions],
) -> Any:
    """A ``ray.data.Datasink``: the rows of a dataset go to a stream, as Arrow record batches.

    Each write task of Ray Data opens a writer of its own, sends its blocks, and waits until they
    are consumed. A write that fails raises in ``write_datasink``, and readers get the error as
    :class:`rstream.stream.Failed`. At least once: what a task had sent before it died is sent again
    when Ray retries it. The order of tasks is Ray Data's. A reader with ``stays=False`` ends with
    the job.

    Args:
        target: a handle or its text; the name of an endpoint (:func:`rstream.ray.reader`), which
            each task looks up; several handles, or a :class:`Group`, of which the members of now
            and the flow control are taken; with ``channel``, the name of a stream. Its readers
            have the codec ``arrow``.
        channel: the channel of the named stream. ``"aeron:ipc"`` writes from the program's own
            node only.
        dir: driver directory of the tasks' nodes, as for :meth:`StreamHandle.publisher`.
        batch_bytes: about how many bytes a record batch has.
        timeout_s: most seconds to wait for a reader that takes nothing; None: no limit.
        options: as for :meth:`StreamHandle.publisher`.
    Returns:
        What ``Dataset.write_datasink`` takes. It can be pickled.
    Raises:
        ConfigError: the target's codec is another one, an argument cannot be used, or Ray Data is
            not installed.

    Example::

        end = rstream.ray.reader(codec="arrow")
        ds.write_datasink(rstream.ray.datasink(end.handle))
    """
    check_timeout(timeout_s)
    if not is_whole(batch_bytes) or batch_bytes < 1:
        raise ConfigError(f"batch_bytes={batch_bytes!r}: must be a whole number from 1 on")
    aim: Target = target_of(target, channel, dir, options)
    try:
        from rstream.ray._ray_data import RstreamDatasink
    except ImportError as error:
        raise ConfigError(NO_RAY_DATA) from error
    return RstreamDatasink(aim, batch_bytes, timeout_s)


def datasource(
    names: str | Sequence[str],
    type: Any = None,
    *,
    codec: CodecLike = "arrow",
    channel: Channel | str | None = None,
    dir: str | None = None,
    schema: Any = None,
    messages_max: int | None = None,
    bytes_max: int | None = None,
    idle_s: float | None = None,
    stays: bool = False,
    on_lost: OnLost = "raise",
) -> Any:
    """A ``ray.data.Datasource``: a bounded part of a stream as a dataset.

    One read task for each name opens the reading end when the dataset is executed. Without
    ``channel`` that is an endpoint with the name, and writers find it by
    ``rstream.ray.handle(name)``. A stream is not stored: what was read cannot be read again. So
    ``materialize()`` what is used twice, and a task that Ray starts a second time raises.

    Args:
        names: of one stream or several. The bounds hold for each.
        type, codec: as for :func:`rstream.ray.reader`. Items are record batches, tables, data
            frames, dicts (one row) or bytes (one row with the column ``value``). With the
            default the writers must send Arrow: record batches, tables or data frames. For dicts
            give ``codec="msgpack"``, for bytes ``codec="raw"``.
        channel: read the stream of that name in this channel, as :func:`rstream.subscriber` does.
        dir: driver directory of the task's node.
        schema: ``pyarrow.Schema`` of the rows, to which they are cast. Without it,
            ``Dataset.schema()`` reads from the stream.
        messages_max: read so many messages. A message is what a writer gave to one ``send``: with
            Arrow a whole record batch, not a row. What comes behind them stays unread.
        bytes_max: read until the rows have so many bytes as Arrow; the message that reaches it is
            the last.
        idle_s: end when nothing has come for so many seconds, also when nobody has written.
        stays: False (default): end when all writers seen have completed. True: only the bounds end
            it.
        on_lost: a writer that dies or fails ends the read with its error. ``"event"``: it is
            logged, and the read goes on.
    Returns:
        What ``ray.data.read_datasource`` takes.
    Raises:
        ConfigError: ``stays=True`` without a bound, an argument cannot be used, or Ray Data is not
            installed.

    Example::

        source = rstream.ray.datasource("ticks", messages_max=1000)
        ds = read_datasource(source).materialize()  # of ray.data
    """
    is_one = isinstance(names, str) or not hasattr(names, "__iter__")
    chosen: Any = [names] if is_one else list(names)
    twice = [name for name in dict.fromkeys(chosen) if chosen.count(name) > 1]
    if twice:
        raise ConfigError(
            f"the name {twice[0]!r} is there twice: a stream has one reader, and each name one"
        )
    check_schema(schema)
    for key, value in (("messages_max", messages_max), ("bytes_max", bytes_max)):
        if value is not None and (not is_whole(value) or value < 1):
            raise ConfigError(f"{key}={value!r}: must be a whole number from 1 on, or None")
    if idle_s is not None:
        check_seconds("idle_s", idle_s)
    if stays and messages_max is None and bytes_max is None and idle_s is None:
        raise ConfigError(
            "stays=True without messages_max, bytes_max or idle_s: the read would never end"
        )
    wanted = [
        Wanted(
            name=check_name(name),
            type=type,
            codec=codec,
            channel=None if channel is None else str(channel),
            dir=dir,
            schema=schema,
            messages_max=messages_max,
            bytes_max=bytes_max,
            idle_s=idle_s,
            stays=stays,
            on_lost=on_lost,
        )
        for name in chosen
    ]
    try:
        from rstream.ray._ray_data import RstreamDatasource
    except ImportError as error:
        raise ConfigError(NO_RAY_DATA) from error
    return RstreamDatasource(wanted)


# Beside datasource: Ray Data hands a block out when it is finished (128 MiB, or the end) and reads
# ahead of the loop. A loop that slows its writers down reads the stream itself.
def iter_batches(
    source: Endpoint | Subscriber[Any],
    *,
    batch_size: int | None = 256,
    batch_format: BatchFormat = "pandas",
    schema: Any = None,
) -> Iterator[Any]:
    """The rows of a live stream in batches of a fixed size, with demand, for a training loop.

    What is not iterated is not read: a slow loop slows the writers down. At most one batch and one
    item are held here. A message counts as consumed when what follows it is asked for: by the loop,
    or to fill a batch. A loop that is left in the middle of a message leaves its rest to the next
    ``iter_batches`` of this source; if the source is closed instead, the next reader gets the whole
    message. Needs no Ray Data; only pyarrow, and pandas for its format.

    Args:
        source: an endpoint that is not started, or a subscriber. The loop reads it in its own
            thread, and ends as ``for item in source`` does. Leaving the loop closes nothing.
        batch_size: rows of a batch; the last one may have fewer. None: the rows of each message.
        batch_format: ``"pandas"``: a data frame; ``"pyarrow"``: a ``pyarrow.Table``; ``"numpy"``: a
            dict of arrays, one for each column. A tensor column is one array, as Ray Data has it.
        schema: ``pyarrow.Schema`` of the rows, to which they are cast.
    Raises:
        ConfigError: an argument cannot be used. CodecError: an item is no row, or has another
            schema than the one before. TypeError: ``source`` is no reading end. Also what
        ``for item in source`` raises.

    Example::

        with rstream.ray.reader("features", codec="arrow") as end:
            for batch in rstream.ray.iter_batches(end, batch_size=1024, batch_format="numpy"):
                model.fit(batch["x"], batch["y"])
    """
    check_schema(schema)
    if batch_size is not None and (not is_whole(batch_size) or batch_size < 1):
        raise ConfigError(f"batch_size={batch_size!r}: must be a whole number from 1 on, or None")
    made = in_format(batch_format)
    if isinstance(source, type) or not isinstance(getattr(source, "source", source), Subscriber):
        raise TypeError(
            f"iter_batches({short(source)}): must be a reading end, such as "
            "rstream.ray.reader(name) or rstream.subscriber(name)"
        )
    return map(made, _batches(source, iter(source), batch_size, schema))


#: Rows that a loop over batches has not been given, and ``in_hand`` before.
_left: WeakKeyDictionary[Any, tuple[list[Any], int]] = WeakKeyDictionary()


def _batches(
    source: Endpoint | Subscriber[Any], items: Iterator[Any], batch_size: int | None, schema: Any
) -> Iterator[Any]:
    face = source if isinstance(source, Subscriber) else source.source
    rest = reading_of(face).rest
    left, in_hand = _left.pop(source, ([], rest.in_hand))

    def tables() -> Iterator[Any]:
        for item in items:
            rest.in_hand = in_hand
            yield table_of([item], schema)

    rebatched = Rebatched(tables(), batch_size, left)
    try:
        yield from rebatched
    except GeneratorExit:  # the loop is left: it was not given the message of the rest
        if rebatched.left:
            rest.in_hand = 1
        raise
    finally:
        if rebatched.left:
            _left[source] = rebatched.left, in_hand
