"""How a ``with`` block ends the stream of its publisher.

    the body                                  readers get       close waits for them
    returns                                   the end           up to linger_s
    raises an Exception                       the error         up to linger_s
    is cancelled, Ctrl-C, sys.exit(1)         the error         not at all
    sys.exit(0), a generator that is closed   the end           not at all

Whoever cancels wants the program to go on now. What was sent before is delivered all the same,
as long as the driver lives.
"""

from __future__ import annotations


def is_failure(error: BaseException | None) -> bool:
    """Whether readers get the exception that left the block as an error."""
    if isinstance(error, SystemExit):
        return error.code not in (None, 0)
    return error is not None and not isinstance(error, GeneratorExit)


def linger_after(error: BaseException | None, linger_s: float) -> float:
    """Seconds that the publisher waits for its readers when this exception left the block."""
    return linger_s if error is None or isinstance(error, Exception) else 0.0


def message_of(error: BaseException) -> str:
    """The message of an error, also of one whose ``__str__`` fails."""
    try:
        return str(error)
    except Exception as problem:
        return f"(its __str__ raised {type(problem).__name__})"


def cut_text(text: str, bytes_max: int) -> bytes:
    """The text in UTF-8, cut behind its last whole character that fits."""
    return text.encode(errors="backslashreplace")[:bytes_max].decode(errors="ignore").encode()
