"""A consumer that the test stops with a signal: ``python -m tests.system.slow_worker JSON``.

It reads until told otherwise and prints its observations as lines of JSON.
"""

from __future__ import annotations

import json
import sys
import time

from rstream import policy, stream
from rstream.errors import SlowConsumer


def say(**fields):
    print(json.dumps(fields), flush=True)


def main(task):
    """Read ``count`` messages beyond each gap, or until it is evicted."""
    evict = policy.Evict(task["after_s"], rejoin=task["rejoin"])
    with stream.subscriber(
        task["name"], bytes, dir=task["dir"], channel=task["channel"], on_slow=evict
    ) as sub:
        say(ready=True)
        last = None
        while True:
            try:
                items = sub.poll()
            except SlowConsumer as error:
                say(slow=str(error), session=error.session_id, position=error.position, last=last)
                return
            for event in sub.events():
                if isinstance(event, stream.Gap | stream.Evicted):
                    say(event=type(event).__name__, text=str(event))
            for item in items:
                number = int(item[:8])
                if item[8:] != b"x" * (len(item) - 8):
                    say(torn=number)
                if last is not None and number != last + 1:
                    say(jump=[last, number])
                if last is None:
                    say(first=number)
                last = number
            sub.wait(0.1)
            time.sleep(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
