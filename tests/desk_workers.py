"""Workers for the supervisor's tests: they load nothing, beat, and misbehave as they are told."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from armin.desk.workers import Beat
from armin.errors import DataError


@dataclass(frozen=True)
class Worker:
    """Writes its number to a file when it begins; the first one is told how to fail."""

    folder: str
    fault: str = ""
    requests: int = 0

    def __call__(self, listener, pipe, turns):
        folder, me = Path(self.folder), os.getpid()
        first = not list(folder.glob("began-*"))
        (folder / f"began-{me}").touch()
        fault = self.fault if first else ""
        if fault == "refuse":
            pipe.send(Beat(refused=DataError("This is no bundle.")))
            return
        if fault == "die early":
            os._exit(3)
        if fault == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        else:
            signal.signal(signal.SIGTERM, lambda *_: self._end(folder, me))
        for i in range(6000):
            if fault == "die" and i == 3:
                os.kill(me, signal.SIGKILL)
            if fault == "stop" and i == 3:
                os.kill(me, signal.SIGSTOP)
            if i == 0:
                (folder / f"ready-{me}").touch()
            pipe.send(Beat(self.requests if first else 0))
            time.sleep(0.05)

    def _end(self, folder, me):
        ready = len(list(folder.glob("ready-*")))
        (folder / f"ended-{me}").write_text(str(ready))
        os._exit(0)
