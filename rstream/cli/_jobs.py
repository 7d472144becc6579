"""What the commands say of a reader of shared work that is not done with a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rstream._neighbours import age_of

if TYPE_CHECKING:
    from rstream import metrics

__all__ = ("job_text", "with_job")


def job_text(state: metrics.PublicationState) -> str:
    """How long the reader of a lane has had its oldest job; empty: it is done with it, or soon."""
    if not state.job_held_ms:
        return ""
    who = "its reader" if state.slowest is None else state.slowest.name
    return f"{who} has had its oldest job for {age_of(state.job_held_ms)}"


def with_job(text: str, state: metrics.PublicationState) -> str:
    """The text, with :func:`job_text`."""
    return "; ".join(filter(None, (text, job_text(state))))
