"""Tensor columns of Arrow tables as arrays: those of Ray Data, and Arrow's own of a fixed shape.

Ray's are a type of its own where ``ray.data`` is imported. Elsewhere they arrive as lists, and the
metadata of their field has the name and the shape.
"""

# pyarrow has no types, so everything from it is unknown; no signature here names it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import importlib
import json
from typing import Any, Final

#: Names of types whose rows have one shape, before the number of a version.
OF_ONE_SHAPE: Final = "ray.data.arrow_tensor"
OF_MANY_SHAPES: Final = "ray.data.arrow_variable_shaped_tensor"


def to_arrays(table: Any) -> dict[str, Any]:
    """A NumPy array for each column; of a tensor column one with the shape of its rows."""
    return {
        field.name: column.to_numpy() if (found := tensor_of(field, column)) is None else found
        for field, column in zip(table.schema, table.columns, strict=True)
    }


def to_frame(table: Any) -> Any:
    """A pandas data frame; a tensor column that pandas cannot have as such has an array a row."""
    lists = {
        field.name: list(found)
        for field, column in zip(table.schema, table.columns, strict=True)
        if not _is_of_python(field.type) and (found := tensor_of(field, column)) is not None
    }
    frame = table.to_pandas()
    for name, arrays in lists.items():
        frame[name] = arrays
    return frame


def tensor_of(field: Any, column: Any) -> Any:
    """The array of a tensor column; None: it is none, or rows are null."""
    if column.null_count:
        return None
    array = column.combine_chunks()
    if _is_arrows_own(field.type):
        order = field.type.permutation or range(len(field.type.shape))
        values = _values(array.storage.flatten()).reshape(len(array), *field.type.shape)
        return values.transpose(0, *(place + 1 for place in order))
    if _is_of_python(field.type):
        name, text = field.type.extension_name, field.type.__arrow_ext_serialize__()
        array = array.storage
    else:
        metadata = field.metadata or {}
        name = metadata.get(b"ARROW:extension:name", b"").decode()
        text = metadata.get(b"ARROW:extension:metadata", b"")
    if name == OF_MANY_SHAPES:
        return _of_many_shapes(array)
    if not name.startswith(OF_ONE_SHAPE):
        return None
    given = json.loads(text)
    shape = given["shape"] if isinstance(given, dict) else given
    return _values(array.flatten()).reshape(len(array), *shape)


def _is_arrows_own(type: Any) -> bool:
    import pyarrow

    return isinstance(type, pyarrow.FixedShapeTensorType)


def _is_of_python(type: Any) -> bool:
    """Whether a package such as Ray has made the type; others have no such methods."""
    import pyarrow

    return isinstance(type, pyarrow.ExtensionType)


def _of_many_shapes(storage: Any) -> Any:
    np: Any = importlib.import_module("numpy")
    arrays = np.empty(len(storage), dtype=object)
    data, shapes = storage.field("data"), storage.field("shape").to_pylist()
    for index, shape in enumerate(shapes):
        arrays[index] = _values(data[index].values).reshape(shape)
    return arrays


def _values(flat: Any) -> Any:
    return flat.to_numpy(zero_copy_only=False)
