"""The Arrow codec: record batches, tables, and the data frames of pandas and polars."""

# pyarrow has no types, so everything from it is unknown; no signature here names it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rstream._extras import how_to_install
from rstream._process import raise_of_handler
from rstream.codecs._arrow_stream import ArrowStreamReader, ArrowStreamWriter
from rstream.codecs._base import ARROW_ID, Codec, Encoded, bare, decode_error, name_of
from rstream.codecs._limits import LIMITS, Limits
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


#: pandas has a number, or the address of an object, for each value.
PANDAS_VALUE_BYTES: Final = 8


def form_of(type_: Any) -> str:
    """``"batch"``, ``"table"``, ``"pandas"`` or ``"polars"``; empty: not a type of this codec."""
    for base in getattr(type_, "__mro__", ()):
        form = _FORMS.get((base.__module__.partition(".")[0], base.__qualname__))
        if form:
            return form
    return ""


class _Arrow:
    """Tables as Arrow IPC streams; see :mod:`rstream.codecs._arrow_stream`."""

    codec_id = ARROW_ID
    maps_blocks = True

    def __init__(self, form: str, schema: Any, view: bool, limits: Limits) -> None:
        import pyarrow

        self._pa: Any = pyarrow
        self._writer = ArrowStreamWriter(pyarrow)
        value_bytes = PANDAS_VALUE_BYTES if form == "pandas" else 0
        self._reader = ArrowStreamReader(pyarrow, limits, value_bytes)
        self._limits = limits
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

    def __reduce__(self) -> tuple[Any, ...]:
        return _Arrow, (self.form, self._schema, self.takes_views, self._limits)

    def with_limits(self, limits: Limits) -> Codec[Any]:
        return _Arrow(self.form, self._schema, self.takes_views, limits)

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
        return self._writer.write(rows)

    def _arrow_of(self, obj: Any) -> Any:
        pa = self._pa
        form = form_of(type(obj))
        if form == "polars":
            _refuse_objects(obj)
        refusals = (pa.ArrowException, TypeError, ValueError, OverflowError)
        try:
            if form:
                return _table_of(pa, form, obj)
        except refusals as error:
            raise _refusal(pa, form, obj, refusals, error) from error
        raise CodecError(
            "the arrow codec sends pyarrow.RecordBatch, pyarrow.Table, pandas.DataFrame and "
            f"polars.DataFrame, not {type(obj).__module__.partition('.')[0]}.{name_of(type(obj))}",
            hint="make one of them: Series.to_frame(), LazyFrame.collect(), pyarrow.table(dict)",
        )

    # ---- reading ----

    def decode_many(self, messages: Sequence[Buffer]) -> list[Any]:
        return [self._decode_one(index, message) for index, message in enumerate(messages)]

    def _decode_one(self, index: int, message: Buffer) -> Any:
        batches = None
        try:
            schema, batches = self._reader.read(message)
            self._check(schema)
            return self._make(schema, batches)
        except CodecError as error:
            raise bare(error) from None
        except Exception as error:  # also what pandas has against metadata, or MemoryError
            raise_of_handler(error)
            raise decode_error("Arrow IPC stream", index, message, error) from bare(error)
        finally:
            batches = None  # else the traceback of an error would hold the lease of a view

    def _check(self, schema: Any) -> None:
        if self._schema is not None and not schema.equals(self._schema):
            raise CodecError(
                f"the publisher sends rows of {_in_line(schema)}, this reader expects "
                f"{_in_line(self._schema)}",
                hint="open both ends with the same schema, or this one without",
            )

    def _batch(self, schema: Any, batches: list[Any]) -> Any:
        pa = self._pa
        filled = [batch for batch in batches if batch.num_rows]
        if not filled and batches:
            return batches[0]
        if not filled:  # from_pylist knows no unions
            return pa.RecordBatch.from_arrays(
                [pa.nulls(0, of.type) for of in schema], schema=schema
            )
        return filled[0] if len(filled) == 1 else pa.concat_batches(filled)

    def _table(self, schema: Any, batches: list[Any]) -> Any:
        return self._pa.Table.from_batches(batches, schema)

    def _pandas(self, schema: Any, batches: list[Any]) -> Any:
        """A frame whose integers are exact: pandas would make floats of a column with nulls."""
        table = self._table(schema, batches)
        frame = table.to_pandas(integer_object_nulls=True)  # nested ones stay Python's integers
        is_integer = self._pa.types.is_integer
        index_names = _index_names(schema)
        own = [place for place, field in enumerate(schema) if field.name not in index_names]
        if len(own) != frame.shape[1]:
            return frame
        for place, index in enumerate(own):
            column = table.column(index)
            if column.null_count and is_integer(column.type):
                exact = column.to_pandas(types_mapper=_nullable)
                frame.isetitem(place, exact.array)
        return frame

    def _polars(self, schema: Any, batches: list[Any]) -> Any:
        import polars  # pyright: ignore[reportMissingImports] - of no extra

        return polars.from_arrow(self._table(schema, batches))


def _refuse_objects(frame: Any) -> None:
    """polars writes the addresses of Python's objects, which no reader can use."""
    for name, dtype in frame.schema.items():
        if name_of(type(dtype)) == "Object" or name_of(dtype) == "Object":
            raise CodecError(
                f"column {name!r} of the DataFrame holds Python objects, not their bytes",
                hint="give it another type: pl.col(name).map_elements(str), or tolist() of it for "
                'codec="msgpack"',
            )


def _index_names(schema: Any) -> set[str]:
    """The columns of a table that become the index of its frame."""
    metadata = schema.pandas_metadata
    return set() if metadata is None else {n for n in metadata["index_columns"] if type(n) is str}


def _nullable(type_: Any) -> Any:
    """The type of pandas for integers of which some are missing."""
    import pandas

    bits = str(type_)  # such as int64 and uint8
    return pandas.api.types.pandas_dtype(bits.replace("u", "U", 1).replace("int", "Int", 1))


def _table_of(pa: Any, form: str, frame: Any, *, index: bool | None = None) -> Any:
    """The table of a frame; ``index`` False: without the index that a frame of pandas has."""
    if form == "polars":
        return frame.to_arrow()
    return pa.Table.from_pandas(frame, preserve_index=index)


def _refusal(
    pa: Any, form: str, frame: Any, refusals: tuple[type[Exception], ...], error: Exception
) -> CodecError:
    """The error for a frame that Arrow has refused, with the first column that it refuses alone."""
    where, hint = "", "give its columns one type each, with astype() or cast()"
    names = list(map(str, frame.columns))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        hint = f"give each column a name of its own, with columns=; {twice!r} is there twice"
    else:
        for place, name in enumerate(names):
            one = frame[:, [place]] if form == "polars" else frame.iloc[:, [place]]
            try:
                _table_of(pa, form, one, index=False)
            except refusals as found:
                where, error = f"column {name!r}, {list(frame.dtypes)[place]}: ", found
                hint = "give it one type, and one that Arrow has, with astype() or cast()"
                break
        else:
            where = "its index: " if form == "pandas" else ""
    # pyarrow adds which column of pandas it is.
    text = error.args[0] if isinstance(error, pa.ArrowException) else error
    return CodecError(
        f"{name_of(type(frame))} cannot be written as Arrow: {where}{text}", hint=hint
    )


def _in_line(schema: Any) -> str:
    return "{" + ", ".join(f"{field.name}: {field.type}" for field in schema) + "}"


def arrow(
    type: Any = None, *, schema: Any = None, view: bool = False, limits: Limits = LIMITS
) -> Codec[Any]:
    """Tables as an Arrow IPC stream, schema included in each message.

    Publishers send any of ``pyarrow.RecordBatch``, ``pyarrow.Table``, ``pandas.DataFrame`` (with
    its index) and ``polars.DataFrame``. Readers get the one that they ask for, whatever was sent.
    Columns of 512 KiB and more in all are sent without a copy of their own.

    The columns that arrive point into a copy of the message (a ``bytes`` object), so they may be
    kept for any time.

    Args:
        type: what a reader gets: one of these four classes; None: ``pyarrow.RecordBatch``.
        schema: a ``pyarrow.Schema``; if given, rows of another one are an error at both ends. The
            reader's says what the publisher sends and what was expected. Metadata may differ.
        view: True: columns in messages of 4 KiB or more point into the transport's memory, and
            hold it for as long as they are there. Readers only.
        limits: what a message may become, decompressed and with its rows. Readers only.
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
        return _Arrow(form, schema, view, limits)
    except ImportError as error:
        raise ConfigError(f"the arrow codec needs pyarrow: {how_to_install('arrow')}") from error
