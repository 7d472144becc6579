"""How a program, its pid and its host are called in texts for people."""

from __future__ import annotations

__all__ = ("process_text",)


def process_text(client_name: str, pid: int | None, host: str = "") -> str:
    """Program, pid and host for people; empty when nothing of it is known."""
    known = [client_name.removesuffix(f"[{pid}]")] if client_name else []
    if pid is not None:
        known.append(f"pid {pid}")
    text = ", ".join(known)
    return f"{text} on {host}" if text and host else text
