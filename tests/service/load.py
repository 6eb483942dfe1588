"""Callers that learn and predict while a server is killed under them, and what they may demand afterwards.

Every example has a number of its own as its first feature, so that the journal tells which were learned, and how often.
"""

import http.client
import json
import random
import threading
from itertools import count

from .conftest import NDJSON, Server

LABELS = ("red", "green", "blue")


class Load:
    """8 callers that learn, singly and in batches, and 2 that predict, of one server that may die at any moment."""

    def __init__(self, server, path, seed):
        self.server, self.path, self.random = server, path, random.Random(seed)
        self.numbers = count(1)
        self.acknowledged: set[int] = set()
        self.sent: set[int] = set()
        self.predictions = 0
        self.faults: list[str] = []
        self._lock = threading.Lock()
        self._going = threading.Event()
        self._threads: list[threading.Thread] = []
        # What a caller with keys has sent and not seen acknowledged: it sends that again to the next server.
        self._open: dict[int, list] = {}

    def example(self):
        with self._lock:
            number = next(self.numbers)
            self.sent.add(number)
        z = number * 2654435761 % 997
        return {"x": [float(number), z % 11 - 5.0, z % 7 - 3.0, z % 5 - 2.0], "y": LABELS[z % 11 * 3 // 11]}

    def begin(self):
        self._going.set()
        kinds = [(self._learn, i) for i in range(8)] + [(self._predict, i) for i in range(2)]
        self._threads = [threading.Thread(target=kind, args=(i,)) for kind, i in kinds]
        for thread in self._threads:
            thread.start()

    def end(self):
        self._going.clear()
        for thread in self._threads:
            thread.join()

    def _learn(self, who):
        keyed, batch = who % 2 == 0, who >= 4
        connection = self.server.connect(timeout=10)
        try:
            while self._going.is_set():
                lines = self._open.pop(who, None) or [self.example() for _ in range(20 if batch else 1)]
                if keyed:
                    lines = [{**line, "key": f"{line['x'][0]:.0f}"} for line in lines]
                    self._open[who] = lines
                body = "".join(json.dumps(line) + "\n" for line in lines).encode()
                kind = NDJSON if batch else "application/json"
                status, _, answer = Server.ask(connection, "POST", f"{self.path}/learn", body, kind)
                if status == 200:
                    self._open.pop(who, None)
                    with self._lock:
                        self.acknowledged.update(int(line["x"][0]) for line in lines)
                elif status not in (429, 503):
                    self.faults.append(f"{status} {answer}")
        except (OSError, http.client.HTTPException):
            pass  # it was killed
        finally:
            connection.close()

    def _predict(self, who):
        connection = self.server.connect(timeout=10)
        try:
            while self._going.is_set():
                status, _, answer = Server.ask(connection, "POST", f"{self.path}/predict", {"x": [1.0, who, 2.0, 3.0]})
                if status == 200:
                    self.predictions += 1
                elif status not in (409, 503):
                    self.faults.append(f"{status} {answer}")
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
