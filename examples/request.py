"""Goal: ask a function in another process by name, and read a stream of answers from it.

Run: python examples/request.py            # starts both processes
     python examples/request.py serve      # or each in a terminal of its own, in either order
     python examples/request.py ask
"""

import subprocess
import sys

import rstream

PRICES = {"ABC": 1.5, "XYZ": 2.5}


@rstream.serve("prices")
def price(symbol: str) -> float:
    return PRICES[symbol]  # a KeyError arrives at the caller as a KeyError


@rstream.serve("bars")
def bars(symbol: str):
    px = PRICES[symbol]
    while True:  # goes on only while the caller asks for more; closed when it leaves
        yield {"symbol": symbol, "px": px}
        px += 1


def serve() -> None:
    with bars:  # in a thread of its own
        price.run()  # in this one, until Ctrl-C


def ask() -> None:
    print("ABC costs", rstream.request("prices", "ABC", timeout_s=10))
    try:
        rstream.request("prices", "none")
    except KeyError as error:
        print("no price:", error.remote_message)
    with rstream.request_stream("bars", "XYZ") as stream:
        for number, bar in enumerate(stream):
            print(bar)
            if number == 2:
                break


if __name__ == "__main__":
    if len(sys.argv) == 1:
        server = subprocess.Popen([sys.executable, __file__, "serve"])
        try:
            ask()
        finally:
            server.terminate()
            server.wait()
    else:
        {"serve": serve, "ask": ask}[sys.argv[1]]()
