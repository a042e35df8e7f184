"""Workers for the supervisor's tests: they load nothing, beat, and misbehave as they are told."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from armin.errors import DataError
from armin_desk.workers import end_with_parent


@dataclass(frozen=True)
class Worker:
    """Writes its number to a file when it begins; the first one is told how to fail."""

    folder: str
    fault: str = ""

    def __call__(self, listener, pipe):
        end_with_parent(5.0)
        folder, me = Path(self.folder), os.getpid()
        try:
            (folder / "first").touch(exist_ok=False)
            first = True
        except FileExistsError:
            first = False
        (folder / f"began-{me}").touch()
        if self.fault == "refuse later" and not first:
            while not list(folder.glob("ready-*")):
                time.sleep(0.01)
            time.sleep(1)
            pipe.send(DataError("This is another bundle."))
            return
        if self.fault == "load for ever":
            time.sleep(300)
        fault = self.fault if first else ""
        if fault == "refuse":
            pipe.send(DataError("This is no bundle."))
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
            pipe.send(None)
            time.sleep(0.05)

    def _end(self, folder, me):
        (folder / f"ended-{me}").touch()
        os._exit(0)
