"""A fragment of a page, and what several of them take for granted."""

from __future__ import annotations

import dataclasses

from tests.test_docs_snippets import blocks

THREADS = """
import threading
import rstream

got = []

def send(name):
    with rstream.publisher(name) as pub:
        pub.send_many({"px": px} for px in range(3))

def take(name):
    with rstream.subscriber(name) as sub:
        got.extend(sub)

def start(function, name):
    thread = threading.Thread(target=function, args=(name,), daemon=True)
    thread.start()
    return thread
"""
ON_LOOPBACK = (("10.0.0.7:40123", "127.0.0.1:{port}"),)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fragment:
    """One fragment.

    Attributes:
        page, number: where it is; the first Python block of a page has number 0.
        before: what the page leaves out, or takes for granted.
        after: what shows that it did what the page says.
        shown: what ``after`` prints; None: anything.
        changed: texts that stand for others in a test, such as addresses of other machines.
        needs: a module without which it is skipped.
        is_async: it stands in a coroutine.
    """

    page: str
    number: int
    before: str = "import rstream"
    after: str = ""
    shown: str | None = ""
    changed: tuple[tuple[str, str], ...] = ()
    needs: str = "rstream"
    is_async: bool = False

    def program(self, port: int) -> str:
        text = blocks(self.page, "python")[self.number]
        for theirs, ours in self.changed:
            assert theirs in text, f"{self.page}: {theirs!r} is not there any more"
            text = text.replace(theirs, ours.format(port=port))
        if self.is_async:
            body = "".join(f"    {line}\n" for line in text.splitlines())
            text = f"import asyncio\nasync def main():\n{body}\nasyncio.run(main())\n"
        return f"{self.before}\n{text}\n{self.after}\n"
