"""What texts for people say of a program: its name, pid and host, and whether it is stopped."""

from __future__ import annotations

from pathlib import Path

__all__ = ("is_stopped", "process_text")


def process_text(client_name: str, pid: int | None, host: str = "") -> str:
    """Program, pid and host for people; empty when nothing of it is known."""
    known = [client_name.removesuffix(f"[{pid}]")] if client_name else []
    if pid is not None:
        known.append(f"pid {pid}")
    text = ", ".join(known)
    return f"{text} on {host}" if text and host else text


def is_stopped(pid: int) -> bool:
    """Whether a process of this host stands still (SIGSTOP, Ctrl-Z, a debugger)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] in ("T", "t")
