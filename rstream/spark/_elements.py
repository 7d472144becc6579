"""From the objects of a stream to record batches with the columns of a Spark schema."""

# pyarrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import contextlib
import datetime
import decimal
import itertools
from typing import TYPE_CHECKING, Any, Final

import msgspec

from rstream.codecs._internal import plain
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
            rows = [_row_of(plain(item), schema.names) for item in items]
            columns = [_column_of([row.get(field.name) for row in rows], field) for field in schema]
            made = [pyarrow.RecordBatch.from_arrays(columns, schema=schema)]
        made = [batch for batch in made if batch.num_rows]
        for batch in made:
            for column, field in zip(batch.columns, schema, strict=True):
                _check_nulls(column, field, field.name)
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
        raise CodecError(f"it does not fit the schema: {error}") from error
    return made


def _column_of(values: list[Any], field: Any) -> Any:
    """The column of a record batch. Raises CodecError, which names the column."""
    import pyarrow

    values = _fitted(values, field.type, field.name)
    try:
        return pyarrow.array(values, field.type)
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
        raise CodecError(f"column {field.name}: {error}") from error


def _fitted(values: list[Any], type: Any, where: str) -> list[Any]:
    """The values with what Arrow does not take from text, the same list if that is nothing.

    msgpack has no dates without a time, times without a zone, decimals and durations, so they come
    as ISO 8601 text. Arrow would cut off fractions for integers without a word, and would take
    numbers for times as microseconds, which are mostly seconds. Those are refused.
    """
    from pyarrow import types

    wanted = _class_of(type)
    if wanted is not None:
        return [
            value if value is None or isinstance(value, wanted) else _read(value, wanted, where)
            for value in values
        ]
    if types.is_integer(type):
        for value in values:
            if isinstance(value, float) and not value.is_integer():
                raise CodecError(f"column {where}: {value} is no {type}")
        return values
    if types.is_struct(type):
        return _fitted_structs(values, type, where)
    if types.is_map(type):
        return _fitted_maps(values, type, where)
    if types.is_list(type) or types.is_large_list(type) or types.is_fixed_size_list(type):
        flat = [one for value in values if isinstance(value, (list, tuple)) for one in value]
        fitted = _fitted(flat, type.value_type, where)
        if fitted is flat:
            return values
        rest = iter(fitted)
        return [
            list(itertools.islice(rest, len(value))) if isinstance(value, (list, tuple)) else value
            for value in values
        ]
    return values


def _fitted_structs(values: list[Any], type: Any, where: str) -> list[Any]:
    given = [value for value in values if isinstance(value, dict)]
    changed: dict[str, list[Any]] = {}
    for part in type:
        had = [one.get(part.name) for one in given]
        has = _fitted(had, part.type, f"{where}.{part.name}")
        if has is not had:
            changed[part.name] = has
    if not changed:
        return values
    rest = zip(*changed.values(), strict=True)
    return [
        {**value, **dict(zip(changed, next(rest), strict=True))}
        if isinstance(value, dict)
        else value
        for value in values
    ]


def _fitted_maps(values: list[Any], type: Any, where: str) -> list[Any]:
    pairs: list[list[Any] | None] = [
        None if value is None else list(value.items() if isinstance(value, dict) else value)
        for value in values
    ]
    flat = [pair for value in pairs if value is not None for pair in value]
    had = [key for key, _ in flat], [value for _, value in flat]
    keys = _fitted(had[0], type.key_type, where)
    items = _fitted(had[1], type.item_type, where)
    if keys is had[0] and items is had[1]:
        return values
    rest = zip(keys, items, strict=True)
    return [None if value is None else list(itertools.islice(rest, len(value))) for value in pairs]


def _class_of(type: Any) -> Any:
    """The class of the values of a column that Arrow does not make of text; else None."""
    from pyarrow import types

    if types.is_timestamp(type):
        return datetime.datetime
    if types.is_date(type):
        return datetime.date
    if types.is_decimal(type):
        return decimal.Decimal
    if types.is_duration(type):
        return datetime.timedelta
    return datetime.time if types.is_time(type) else None


def _read(value: Any, wanted: Any, where: str) -> Any:
    """The value of ISO 8601 text, or a decimal of text or of a number."""
    if isinstance(value, str) or (wanted is decimal.Decimal and isinstance(value, (int, float))):
        with contextlib.suppress(msgspec.ValidationError):
            return msgspec.convert(value, wanted)
    text = "a number or its text" if wanted is decimal.Decimal else f"a {wanted.__name__}"
    raise CodecError(
        f"column {where}: {value!r} is not {text}"
        + ("" if wanted is decimal.Decimal else " or its ISO 8601 text")
    )


def _check_nulls(column: Any, field: Any, where: str) -> None:
    """Refuse a null where the schema has none: Spark would fail each time that it meets the row."""
    import pyarrow
    from pyarrow import types

    if not field.nullable and column.null_count:
        raise CodecError(f"column {where} may not be null")
    if types.is_struct(field.type):
        given = column.drop_null()
        for index, part in enumerate(field.type):
            _check_nulls(given.field(index), part, f"{where}.{part.name}")
    elif types.is_map(field.type):
        entries = pyarrow.ListArray.from_arrays(column.offsets, column.items).flatten()
        _check_nulls(entries, field.type.item_field, where)
    elif types.is_list(field.type) or types.is_large_list(field.type):
        _check_nulls(column.flatten(), field.type.value_field, where)


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
