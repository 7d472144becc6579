"""Goal: an RxPY pipeline between two streams. A slow pipeline slows the publisher down.

Needs: pip install ".[rx]"
Run: python examples/rx_pipeline.py        # starts publisher, pipeline and reader as processes
"""

import subprocess
import sys

from reactivex import operators as ops

import rstream
from rstream import rx as rrx

COUNT = 1000


def publish() -> None:
    with rstream.publisher("ticks") as pub:
        pub.send_many({"n": n, "px": n % 10} for n in range(COUNT))


def pipeline() -> None:
    sent = (
        rrx.from_stream("ticks")
        .pipe(
            ops.filter(lambda tick: tick["px"] > 0),
            ops.buffer_with_count(100),
            ops.map(lambda ticks: {"last": ticks[-1]["n"], "sum": sum(t["px"] for t in ticks)}),
            rrx.to_stream("scores"),
        )
        .run()  # returns the number of items sent
    )
    print(f"pipeline: {sent} scores sent", flush=True)


def read() -> None:
    with rstream.subscriber("scores") as scores:
        for score in scores:
            print(score, flush=True)


if __name__ == "__main__":
    roles = {"read": read, "pipeline": pipeline, "publish": publish}
    if len(sys.argv) == 1:
        all_three = [subprocess.Popen([sys.executable, __file__, role]) for role in roles]
        sys.exit(max(process.wait() for process in all_three))
    roles[sys.argv[1]]()
