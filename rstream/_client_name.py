"""The name that a client shows to people: in the tools, in metrics and errors, and to Aeron."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from rstream.errors import ConfigError

__all__ = ("check_name", "default_name")

#: The environment's name for the clients of a process.
VARIABLE: Final = "RSTREAM_CLIENT_NAME"
#: Bytes of UTF-8; Aeron's limit, too.
NAME_BYTES_MAX: Final = 100


def default_name() -> str:
    """``$RSTREAM_CLIENT_NAME``, else program and pid, as ``prices.py[4711]``.

    Raises:
        ConfigError: the variable holds no name.
    """
    name = os.environ.get(VARIABLE)
    if name:
        check_name(name, VARIABLE)
        return name
    end = f"[{os.getpid()}]"
    program = "".join(one if one.isprintable() else "?" for one in _program())
    kept = program.encode("utf-8", "replace")[: NAME_BYTES_MAX - len(end)]
    return kept.decode("utf-8", "ignore") + end


def _program() -> str:
    """The name of the module of ``-m``, of the script, or of Ray's actor."""
    try:
        title = Path("/proc/self/cmdline").read_bytes().split(b"\0")[0]
    except OSError:
        title = b""
    if title.startswith(b"ray::"):  # what Ray makes of the title of an actor's process
        return title.decode("utf-8", "replace")
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    if spec is not None and spec.name != "__main__":
        return str(spec.name).removesuffix(".__main__")
    script = sys.argv[0] if getattr(sys, "argv", None) else ""
    return {"": "python", "-c": "python -c"}.get(script) or os.path.basename(script) or "python"


def check_name(name: object, where: str) -> None:
    """Refuse a name that could not be shown.

    Args:
        where: what the error calls it.

    Raises:
        ConfigError: no str, too long, or with characters that are not for printing.
    """
    if not isinstance(name, str):
        raise ConfigError(f"{where}={name!r}: must be text")
    if len(name.encode("utf-8", "surrogatepass")) > NAME_BYTES_MAX or not name.isprintable():
        raise ConfigError(
            f"{where}={name!r}: must be at most {NAME_BYTES_MAX} bytes of text that can be printed"
        )
