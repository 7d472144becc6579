"""What an object of another package is, by the names of its classes: none has to be imported."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from rstream.codecs._arrow import form_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = (
    "ARRAY",
    "BUFFER",
    "DLPACK",
    "IN_BUFFERS",
    "MISSING",
    "MODEL",
    "SCALAR",
    "TABLE",
    "TENSOR",
    "kind_of",
)

ARRAY: Final = "array"
SCALAR: Final = "scalar"
TENSOR: Final = "tensor"
BUFFER: Final = "buffer"
TABLE: Final = "table"
MODEL: Final = "model"
MISSING: Final = "missing"
#: Others that lend their memory as DLPack.
DLPACK: Final = "dlpack"
#: What lies in buffers beside a structure.
IN_BUFFERS: Final = frozenset({ARRAY, TENSOR, BUFFER, TABLE, DLPACK})

_KINDS: Final[Mapping[tuple[str, str], str]] = {
    ("numpy", "ndarray"): ARRAY,
    ("numpy", "generic"): SCALAR,
    ("torch", "Tensor"): TENSOR,
    ("torch", "TensorBase"): TENSOR,
    ("pyarrow", "Buffer"): BUFFER,
    ("pydantic", "BaseModel"): MODEL,
    ("pandas", "NaTType"): MISSING,
    ("pandas", "NAType"): MISSING,
}
#: Types whose kind is remembered.
TYPES_MAX: Final = 1024


@lru_cache(maxsize=TYPES_MAX)
def kind_of(type_: Any) -> str:
    """The kind of the objects of a class; empty: none of these."""
    for base in getattr(type_, "__mro__", ()):
        kind = _KINDS.get((base.__module__.partition(".")[0], base.__qualname__))
        if kind == MODEL and not hasattr(type_, "model_dump"):  # of pydantic 1
            return ""
        if kind:
            return kind
    if form_of(type_):
        return TABLE
    if hasattr(type_, "__dlpack__") and hasattr(type_, "__dlpack_device__"):
        return DLPACK
    return ""
