"""From the objects of a stream to record batches with the columns of a Spark schema."""

# pyarrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rstream.errors import CodecError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The columns when the user gives no schema.
RAW_SCHEMA: Final = "value binary"


def codec_of(schema: Any, codec: str | None) -> str:
    """The name of the codec: what the user gave, else what the schema suggests.

    Args:
        schema: a ``pyarrow.Schema``.
    Raises:
        ConfigError: they do not fit together.
    """
    import pyarrow

    is_binary = len(schema) == 1 and pyarrow.types.is_binary(schema.field(0).type)
    if codec is None:
        return "raw" if is_binary else "msgpack"
    if codec == "raw" and not is_binary:
        raise ConfigError(
            f"rstream source: codec=raw gives one column of type binary, and the schema has "
            f"{', '.join(f'{field.name} {field.type}' for field in schema)}: leave out "
            'schema(...), or give schema("value binary")'
        )
    return codec


def batches_of(items: Sequence[Any], codec: str, schema: Any) -> list[Any]:
    """Make record batches of objects of a stream, in their order; none is without rows.

    Args:
        items: bytes (``raw``), dicts or lists of values (``msgpack``), record batches (``arrow``).
        codec: the name of the codec.
        schema: the ``pyarrow.Schema`` to have.
    Raises:
        CodecError: an object does not fit the schema; the text says which column.
    """
    import pyarrow

    try:
        if codec == "arrow":
            table = pyarrow.Table.from_batches(
                [conformed(item, schema) for item in items], schema=schema
            )
            made = table.combine_chunks().to_batches()
        elif codec == "raw":
            column = pyarrow.array(items, schema.field(0).type)
            made = [pyarrow.RecordBatch.from_arrays([column], schema=schema)]
        else:
            rows = [_row_of(item, schema.names) for item in items]
            made = [pyarrow.RecordBatch.from_pylist(rows, schema=schema)]
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
        raise CodecError(f"it does not fit the schema: {error}") from error
    return [batch for batch in made if batch.num_rows]


def _row_of(item: Any, names: Sequence[str]) -> dict[str, Any]:
    if isinstance(item, dict):
        _check_common(item, names)
        return item  # pyright: ignore[reportUnknownVariableType]
    if isinstance(item, (list, tuple)) and len(item) == len(names):
        return dict(zip(names, item, strict=True))
    if len(names) == 1:
        return {names[0]: item}
    raise CodecError(
        f"{type(item).__name__} {str(item)[:80]!r} is no row of {len(names)} columns: send dicts, "
        "structs, or lists of as many values"
    )


def _check_common(given: Any, names: Sequence[str]) -> None:
    """Refuse what would become rows of nulls."""
    if not any(name in given for name in names):
        raise CodecError(
            f"it has none of the columns {', '.join(names)}; the publisher sends "
            f"{', '.join(map(str, given)) or 'nothing'}"
        )


def conformed(batch: Any, schema: Any) -> Any:
    """A record batch with the columns of a schema, by name; others are left out.

    Raises:
        CodecError: a column is missing that may not be null.
        pyarrow.ArrowException: values of a column cannot be converted.
    """
    import pyarrow

    if batch.schema.equals(schema):
        return batch
    _check_common(batch.schema.names, schema.names)
    columns: list[Any] = []
    for field in schema:
        index = batch.schema.get_field_index(field.name)
        if index >= 0:
            columns.append(batch.column(index).cast(field.type))
        elif field.nullable:
            columns.append(pyarrow.nulls(batch.num_rows, field.type))
        else:
            raise CodecError(
                f"column {field.name!r} is missing and may not be null; the publisher sends "
                f"{', '.join(batch.schema.names)}"
            )
    return pyarrow.RecordBatch.from_arrays(columns, schema=schema)
