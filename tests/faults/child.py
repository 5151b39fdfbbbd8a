"""The command line in a process of its own, which stops at one of its statements: `child.py LINK MOMENT WORDS...`.

It says so on the socket LINK and waits there. At its end it says how many statements there were.
"""

import atexit
import signal
import socket
import sys
from itertools import count

from sqlsvm.cli import main
from sqlsvm.engine.base import Engine


def stop_at(link: socket.socket, moment: int) -> None:
    numbers = count(1)

    def sent(_text: str) -> None:
        if next(numbers) == moment:
            link.send(b"now")
            link.recv(2)

    Engine.on_statement = staticmethod(sent)
    atexit.register(link.close)
    atexit.register(lambda: link.send(str(next(numbers) - 1).encode()))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background inherit that it is ignored
    file, moment, *words = sys.argv[1:]
    stop_at(socket.socket(fileno=int(file)), int(moment))
    sys.argv = ["sqlsvm", *words]
    main()
