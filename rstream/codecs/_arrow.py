"""The Arrow codec: record batches, tables, and the data frames of pandas and polars."""

# pyarrow has no types, so everything from it is unknown; no signature here names it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rstream.codecs._base import ARROW_ID, Codec, Encoded, decode_error, name_of
from rstream.errors import CodecError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Buffer

__all__ = ("arrow", "form_of")

#: The types that the codec carries, by package and name, so that none has to be imported.
_FORMS: Final[Mapping[tuple[str, str], str]] = {
    ("pyarrow", "RecordBatch"): "batch",
    ("pyarrow", "Table"): "table",
    ("pandas", "DataFrame"): "pandas",
    ("polars", "DataFrame"): "polars",
}
#: From so many bytes on the columns go into the log one by one, instead of being joined first.
GATHERED_MIN: Final = 32_768


def form_of(type_: Any) -> str:
    """``"batch"``, ``"table"``, ``"pandas"`` or ``"polars"``; empty: not a type of this codec."""
    for base in getattr(type_, "__mro__", ()):
        form = _FORMS.get((base.__module__.partition(".")[0], base.__qualname__))
        if form:
            return form
    return ""


class _Pieces:
    """A file for Arrow's writer that keeps what is written, columns without a copy."""

    closed = False

    def __init__(self) -> None:
        self.pieces: list[Buffer] = []
        self._small: list[bytes] = []
        self._length = 0

    def write(self, data: Any) -> int:
        if isinstance(data, bytes):
            self._small.append(data)
        else:
            self._join()
            self.pieces.append(data)
        self._length += len(data)
        return len(data)

    def _join(self) -> None:
        if self._small:
            self.pieces.append(b"".join(self._small))
            self._small.clear()

    def tell(self) -> int:
        return self._length

    def flush(self) -> None:
        self._join()

    close = flush


class _Arrow:
    """The Arrow IPC stream format, with the schema in each message."""

    codec_id = ARROW_ID

    def __init__(self, form: str, schema: Any, view: bool) -> None:
        import pyarrow

        self._pa: Any = pyarrow
        if schema is not None and not isinstance(schema, pyarrow.Schema):
            raise ConfigError(
                f"arrow codec: schema={schema!r} is no pyarrow.Schema",
                hint='such as pyarrow.schema([("px", pyarrow.float64())])',
            )
        self._schema: Any = schema
        self.form = form
        self._make = {
            "batch": self._batch,
            "table": self._table,
            "pandas": self._pandas,
            "polars": self._polars,
        }[form]
        self.takes_views = view

    # ---- writing ----

    def encode(self, obj: Any) -> Encoded:
        pa = self._pa
        rows = obj if isinstance(obj, (pa.RecordBatch, pa.Table)) else self._arrow_of(obj)
        if self._schema is not None and not rows.schema.equals(self._schema):
            raise CodecError(
                f"arrow codec of the schema {_in_line(self._schema)} cannot send "
                f"{_in_line(rows.schema)}",
                hint="cast it, or give both ends its schema",
            )
        if rows.nbytes < GATHERED_MIN:
            sink = pa.BufferOutputStream()
            self._write(sink, rows)
            return sink.getvalue()
        gathered = _Pieces()
        self._write(gathered, rows)
        gathered.flush()
        return gathered.pieces

    def _write(self, sink: Any, rows: Any) -> None:
        with self._pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write(rows)

    def _arrow_of(self, obj: Any) -> Any:
        pa = self._pa
        form = form_of(type(obj))
        try:
            if form == "pandas":
                return pa.Table.from_pandas(obj)
            if form == "polars":
                return obj.to_arrow()
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise CodecError(
                f"{name_of(type(obj))} cannot be written as Arrow: {error}", hint=_remedy(obj)
            ) from error
        raise CodecError(
            "the arrow codec sends pyarrow.RecordBatch, pyarrow.Table, pandas.DataFrame and "
            f"polars.DataFrame, not {type(obj).__module__.partition('.')[0]}.{name_of(type(obj))}",
            hint="make one of them: Series.to_frame(), LazyFrame.collect(), pyarrow.table(dict)",
        )

    # ---- reading ----

    def decode_many(self, messages: Sequence[Buffer]) -> list[Any]:
        return [self._decode_one(index, message) for index, message in enumerate(messages)]

    def _decode_one(self, index: int, message: Buffer) -> Any:
        pa = self._pa
        reader = None
        try:
            reader = pa.ipc.open_stream(pa.py_buffer(message))
            self._check(reader.schema)
            return self._make(reader)
        except (pa.ArrowException, OSError) as error:
            raise decode_error("Arrow IPC stream", index, message, error) from error
        finally:
            reader = None  # else the traceback of an error would hold the lease of a view

    def _check(self, schema: Any) -> None:
        if self._schema is not None and not schema.equals(self._schema):
            raise CodecError(
                f"the publisher sends rows of {_in_line(schema)}, this reader expects "
                f"{_in_line(self._schema)}",
                hint="open both ends with the same schema, or this one without",
            )

    def _batch(self, reader: Any) -> Any:
        pa = self._pa
        batches = [batch for batch in reader if batch.num_rows] or [
            pa.RecordBatch.from_pylist([], schema=reader.schema)
        ]
        for batch in batches:
            batch.validate()
        return batches[0] if len(batches) == 1 else pa.concat_batches(batches)

    def _table(self, reader: Any) -> Any:
        table = reader.read_all()
        table.validate()
        return table

    def _pandas(self, reader: Any) -> Any:
        return self._table(reader).to_pandas()

    def _polars(self, reader: Any) -> Any:
        import polars  # pyright: ignore[reportMissingImports] - of no extra

        return polars.from_arrow(self._table(reader))


def _remedy(frame: Any) -> str:
    """What makes a frame fit that Arrow has refused."""
    names = list(map(str, frame.columns))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        return f"give each column a name of its own, with columns=; {twice!r} is there twice"
    return "give its columns one type each, with astype() or cast()"


def _in_line(schema: Any) -> str:
    return "{" + ", ".join(f"{field.name}: {field.type}" for field in schema) + "}"


def arrow(type: Any = None, *, schema: Any = None, view: bool = False) -> Codec[Any]:
    """Tables as an Arrow IPC stream, schema included in each message.

    Publishers send any of ``pyarrow.RecordBatch``, ``pyarrow.Table``, ``pandas.DataFrame`` (with
    its index) and ``polars.DataFrame``. Readers get the one that they ask for, whatever was sent.
    Columns of 32 KiB and more in all are sent without a copy of their own.

    The columns that arrive point into a copy of the message (a ``bytes`` object), so they may be
    kept for any time.

    Args:
        type: what a reader gets: one of these four classes; None: ``pyarrow.RecordBatch``.
        schema: a ``pyarrow.Schema``; if given, rows of another one are an error at both ends. The
            reader's says what the publisher sends and what was expected. Metadata may differ.
        view: True: columns in messages of 4 KiB or more point into the transport's memory, and
            hold it for as long as they are there. Readers only.
    Raises:
        ConfigError: pyarrow is not installed, or an argument cannot be used.

    Example::

        with rstream.publisher("rows", codec="arrow") as pub:
            pub.send(pyarrow.table({"px": [1.0, 2.0]}))
    """
    form = "batch" if type is None else form_of(type)
    if not form:
        raise ConfigError(
            f"arrow codec: type={name_of(type)}",
            hint="give pyarrow.RecordBatch, pyarrow.Table, pandas.DataFrame or polars.DataFrame",
        )
    try:
        return _Arrow(form, schema, view)
    except ImportError as error:
        raise ConfigError(
            'the arrow codec needs pyarrow: pip install "rstream-transport[arrow]"'
        ) from error
