"""Items of a stream as Arrow tables, and tables cut into batches of a fixed length."""

# pyarrow has no types, so everything from it is unknown; no signature here names it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from rstream.codecs._internal import form_of, plain
from rstream.errors import CodecError, ConfigError
from rstream.ray._tensors import to_arrays, to_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

#: Column of a message that is only bytes.
VALUE: Final = "value"
BATCH_FORMATS: Final = ("pandas", "pyarrow", "numpy")


def check_schema(schema: Any) -> None:
    """Refuse what is no schema.

    Raises:
        ConfigError: it is given and no ``pyarrow.Schema``, or pyarrow is not installed.
    """
    if schema is None:
        return
    import pyarrow

    if not isinstance(schema, pyarrow.Schema):
        raise ConfigError(
            f"schema={schema!r} is no pyarrow.Schema",
            hint='such as pyarrow.schema([("px", pyarrow.float64())])',
        )


def table_of(items: Sequence[Any], schema: Any) -> Any:
    """The rows of items of one kind as a ``pyarrow.Table``.

    Args:
        items: at least one. Record batches, tables and data frames have their own rows; a mapping
            is one row; bytes are one row with the column ``value``.
        schema: of the rows; None: as they come.
    Raises:
        CodecError: they are no rows, or do not fit the schema or each other.
    """
    import pyarrow as pa

    first = items[0]
    try:
        if form_of(type(first)):
            tables = [_table(pa, item) for item in items]
            if schema is not None:
                tables = [table.cast(schema) for table in tables]
            return tables[0] if len(tables) == 1 else pa.concat_tables(tables)
        if isinstance(first, Mapping):
            return pa.Table.from_pylist([plain(item) for item in items], schema=schema)
        if isinstance(first, bytes | bytearray | memoryview):
            table = pa.table({VALUE: pa.array([bytes(item) for item in items], pa.binary())})
            return table if schema is None else table.cast(schema)
    except (pa.ArrowException, TypeError, ValueError, KeyError) as error:
        raise CodecError(
            f"items of {type(first).__qualname__} do not make one table: {error}",
            hint="send rows of one schema",
        ) from error
    raise CodecError(
        f"items of {type(first).__qualname__} are no rows",
        hint="send Arrow record batches, tables or data frames (codec arrow), dicts (msgpack), "
        "or bytes (raw)",
    )


def _table(pa: Any, item: Any) -> Any:
    form = form_of(type(item))
    if form == "batch":
        return pa.Table.from_batches([item])
    if form == "pandas":
        return pa.Table.from_pandas(item, preserve_index=False)
    return item.to_arrow() if form == "polars" else item


def record_batches(table: Any, bytes_max: int) -> Iterator[Any]:
    """The rows of a table as record batches of about ``bytes_max`` bytes; an empty one has none."""
    if table.num_rows:
        rows = max(1, table.num_rows * bytes_max // max(1, table.nbytes))
        yield from table.to_batches(max_chunksize=rows)


def in_format(batch_format: str) -> Callable[[Any], Any]:
    """What makes a batch of a table.

    Raises:
        ConfigError: there is no such format.
    """
    if batch_format not in BATCH_FORMATS:
        raise ConfigError(
            f"batch_format={batch_format!r}: must be one of {', '.join(BATCH_FORMATS)}"
        )
    if batch_format == "pyarrow":
        return lambda table: table
    return to_frame if batch_format == "pandas" else to_arrays


class Rebatched:
    """Tables of exactly ``batch_size`` rows each, the last one excepted.

    Args:
        tables: the rows.
        batch_size: rows of a table; None: of each table of ``tables``.
        left: rows that come before them: what an earlier one has not handed out.
    """

    def __init__(
        self, tables: Iterable[Any], batch_size: int | None, left: Iterable[Any] = ()
    ) -> None:
        self._tables = tables
        self._batch_size = batch_size
        self._before = deque(left)
        self._begun: deque[Any] = deque()  # taken, and less than a batch

    @property
    def left(self) -> list[Any]:
        """Tables of the rows that were taken and are not handed out."""
        return [*self._begun, *self._before]

    def _taken(self) -> Iterator[Any]:
        while self._before:
            yield self._before.popleft()
        yield from self._tables

    def __iter__(self) -> Iterator[Any]:
        """Raises CodecError: two tables that share a batch have different schemas."""
        import pyarrow as pa

        begun, size, rows = self._begun, self._batch_size, 0
        for table in self._taken():
            if size is None:
                yield table
                continue
            if table.num_rows == 0:
                continue
            if begun and not table.schema.equals(begun[0].schema):
                raise CodecError(
                    f"rows of {table.schema.names} follow rows of {begun[0].schema.names} of "
                    "another schema, and a batch has one",
                    hint="give schema=, or batch_size=None",
                )
            begun.append(table)
            rows += table.num_rows
            del table  # else what is handed out would be held here as well
            while rows >= size:
                joined = pa.concat_tables(begun)
                begun.clear()
                rows -= size
                if rows:
                    begun.append(joined.slice(size))
                batch = joined.slice(0, size)
                del joined
                yield batch
                del batch
        if begun:
            last = pa.concat_tables(begun)
            begun.clear()
            yield last
