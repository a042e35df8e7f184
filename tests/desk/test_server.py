"""The desk in bad company: slow callers, crowds, dead and silent workers, and the end of the day."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from armin import ARMIN, Schema
from armin.datasets import make_loans
from armin.errors import DataError, ParameterError

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn")
pytestmark = pytest.mark.filterwarnings("ignore:Using `httpx`")

from fastapi.responses import PlainTextResponse  # noqa: E402
from fastapi.testclient import TestClient  # noqa: E402
from prometheus_client.multiprocess import mark_process_dead  # noqa: E402

from armin_desk import connections, server, workers  # noqa: E402
from armin_desk.app import create_app  # noqa: E402
from armin_desk.cli.options import Limits  # noqa: E402
from armin_desk.clients import Clients  # noqa: E402
from armin_desk.connections import Listener  # noqa: E402
from armin_desk.metrics import Metrics  # noqa: E402
from armin_desk.searches import Searches  # noqa: E402
from armin_desk.server import Server  # noqa: E402
from armin_desk.settings import SHARED, DeskSettings  # noqa: E402
from armin_desk.workers import supervise  # noqa: E402

from desk_workers import Worker  # noqa: E402

LOANS = make_loans()
ROW = LOANS.applicant
HEAD = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def explainer():
    return ARMIN(LOANS.classifier, LOANS.schema, desired="approved").fit(LOANS.X)


def bundle_of(explainer):
    return SimpleNamespace(explainer=explainer, title="Loans", people=(), manifest={})


def until(condition, seconds=500.0):  # far more than a busy machine takes
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


class Live:
    """The desk's own server on a real socket, in a thread."""

    def __init__(self, explainer, limits):
        self.app = create_app(bundle_of(explainer), limits)
        self.server = Server(self.app, limits)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.server.serve_at, args=(self.listener,), daemon=True)

    def __enter__(self):
        self.thread.start()
        assert until(lambda: self.server.started)
        return self

    def __exit__(self, *_):
        self.server.should_exit = True
        self.thread.join(60)
        assert not self.thread.is_alive()

    def connect(self, source="127.0.0.1"):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60, source_address=(source, 0))

    def ask(self, route="/livez", **more):
        url = f"http://127.0.0.1:{self.port}{route}"
        return httpx.request("POST" if more else "GET", url, timeout=60, trust_env=False, **more)

    def number(self, name):
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.app.state.metrics.text().decode(), re.M)
        return float(found[1]) if found else 0.0


class Held(ARMIN):
    """An explainer that waits until it is let go, or told to stop."""

    gate: threading.Event

    def explain(self, row, *, locked=()):
        from armin.solve.stopping import stopped

        assert until(lambda: self.gate.is_set() or stopped())
        return super().explain(row, locked=locked)


@pytest.fixture
def held(explainer):
    twin = Held(LOANS.classifier, LOANS.schema, desired="approved")
    twin.__dict__.update(vars(explainer))
    Held.gate = threading.Event()
    yield twin
    Held.gate.set()


# --- connections ---


def test_a_head_that_does_not_come_is_not_waited_for(explainer):
    with Live(explainer, DeskSettings(header_time=0.4)) as live:
        with live.connect() as silent, live.connect() as slow, live.connect() as good:
            slow.sendall(HEAD[:10])
            good.sendall(HEAD + b"\r\n")
            assert good.recv(12) == b"HTTP/1.1 200"
            assert silent.recv(1) == b""  # closed, not answered

            def trickles():
                try:
                    slow.sendall(b"x")  # a byte now and then buys no time
                    slow.settimeout(0.1)
                    return slow.recv(1) == b""
                except TimeoutError:
                    return False
                except ConnectionError:
                    return True

            assert until(trickles)
            # nor does a further head on a connection that was used before
            good.sendall(HEAD)
            good.settimeout(60)
            while good.recv(4096):
                pass
        assert live.number('armin_connections_closed_total{why="late"}') == 3


def test_whoever_asks_ahead_gets_one_answer(explainer):
    """Thousands of requests in one packet would keep a worker busy, and its door could not count them."""
    with Live(explainer, DeskSettings()) as live:
        with live.connect() as eager:
            eager.sendall((HEAD + b"\r\n") * 500)
            heard = b""
            with suppress(ConnectionError):
                while piece := eager.recv(4096):
                    heard += piece
        assert heard.count(b"HTTP/1.1") <= 1
        assert live.number('armin_connections_closed_total{why="ahead"}') == 1
        with httpx.Client(base_url=f"http://127.0.0.1:{live.port}", trust_env=False) as patient:
            assert [patient.get("/livez").status_code for _ in range(3)] == [200] * 3
        assert live.number('armin_connections_closed_total{why="ahead"}') == 1


def test_an_answer_that_nobody_takes_is_given_up(explainer):
    with Live(explainer, DeskSettings(patience=0.5)) as live:
        live.app.add_api_route("/large", lambda: PlainTextResponse("x" * 20_000_000))
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(("127.0.0.1", live.port))
            deaf.sendall(HEAD.replace(b"/livez", b"/large") + b"\r\n")
            assert until(lambda: live.number('armin_connections_closed_total{why="unread"}') == 1, 20)
        assert len(live.ask("/large").content) == 20_000_000


def test_idle_connections_make_room_for_whoever_asks(explainer):
    with Live(explainer, DeskSettings(connections=5)) as live, ExitStack() as open_:
        idle = [open_.enter_context(live.connect()) for _ in range(20)]
        assert live.ask().status_code == 200
        assert live.ask("/api/v1/recourse", json={"row": ROW}).status_code == 200
        assert idle[0].recv(1) == b""  # the oldest went first
        assert live.number('armin_connections_closed_total{why="crowded"}') >= 15


def test_one_peer_does_not_take_the_places_of_others(explainer):
    with Live(explainer, DeskSettings(connections=4, header_time=60.0)) as live, ExitStack() as open_:
        other = open_.enter_context(live.connect("127.0.0.2"))
        crowd = [open_.enter_context(live.connect("127.0.0.3")) for _ in range(6)]
        assert crowd[2].recv(1) == b""
        other.sendall(HEAD + b"\r\n")
        assert other.recv(12) == b"HTTP/1.1 200"
        assert live.number('armin_connections_closed_total{why="crowded"}') == 3


def test_a_request_under_way_is_never_closed_for_another(held):
    with Live(held, DeskSettings(connections=2)) as live, ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(live.ask, "/api/v1/recourse", json={"row": ROW}) for _ in range(2)]
        assert until(lambda: live.number("armin_searches_running") == 2)
        with live.connect() as third:
            assert third.recv(12) == b"HTTP/1.1 503"
        Held.gate.set()
        assert [one.result().status_code for one in asked] == [200, 200]
        assert live.number('armin_connections_closed_total{why="refused"}') == 1


def test_small_answers_are_sent_at_once(explainer):
    with Live(explainer, DeskSettings()) as live, live.connect() as caller:
        caller.sendall(HEAD + b"\r\n")
        assert caller.recv(12) == b"HTTP/1.1 200"
        (connection,) = live.server.server_state.connections
        ours = connection.transport.get_extra_info("socket")
        assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


# --- searches that do not end ---


class Stuck(ARMIN):
    """An explainer that heeds neither flag nor time while somebody told no income; others are answered."""

    gate: threading.Event

    def explain(self, row, *, locked=()):
        if row.get("Income") is None:
            assert Stuck.gate.wait(60)
        return super().explain(row, locked=locked)


@pytest.fixture
def stuck(explainer):
    twin = Stuck(LOANS.classifier, LOANS.schema, desired="approved")
    twin.__dict__.update(vars(explainer))
    Stuck.gate = threading.Event()
    yield twin
    Stuck.gate.set()


ENDLESS = {"row": {**ROW, "Income": None}}
ENDS = {"row": {**ROW, "Income": 30_000}}
SHORT = {"time_limit": 0.2, "grace": 10.0}  # a busy machine answers the others within that


def test_a_search_that_does_not_end_gives_its_turn_to_the_next(stuck):
    """It held its turn for ever; with all turns held so, everybody got 503 from a worker that called itself ready."""
    with TestClient(
        create_app(bundle_of(stuck), DeskSettings(concurrency=2, **SHORT)), base_url="http://localhost"
    ) as client:

        def number(name):
            return float(re.search(rf"^armin_searches_{name} (\S+)$", client.get("/metrics").text, re.M)[1])

        assert client.post("/api/v1/recourse", json=ENDLESS).status_code == 504
        assert (number("running"), number("stuck")) == (0, 1)
        assert client.get("/readyz").status_code == 200  # and so it is
        with ThreadPoolExecutor(2) as pool:
            asked = [pool.submit(client.post, "/api/v1/recourse", json=ENDS) for _ in range(2)]
            assert [one.result().status_code for one in asked] == [200] * 2
        assert client.post("/api/v1/recourse", json=ENDLESS).status_code == 504
        assert number("stuck") == 2
        assert client.get("/readyz").status_code == 503  # about to be replaced
        assert client.get("/livez").status_code == 200
        assert client.post("/api/v1/recourse", json=ENDS).status_code == 200  # until then it answers
        Stuck.gate.set()
        assert until(lambda: number("stuck") == 0)
        assert client.get("/readyz").status_code == 200


def test_a_search_that_does_not_end_is_given_up_although_its_caller_has_left(stuck):
    body = json.dumps(ENDLESS).encode()
    head = "POST /api/v1/recourse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with Live(stuck, DeskSettings(concurrency=2, **SHORT)) as live:
        with live.connect() as caller:
            caller.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            assert until(lambda: live.number("armin_searches_running") == 1)
        assert until(lambda: live.number("armin_searches_stuck") == 1)
        assert live.number("armin_searches_running") == 0
        assert live.ask("/api/v1/recourse", json=ENDS).status_code == 200


def test_a_worker_with_too_many_searches_that_do_not_end_stops(stuck, caplog):
    live = Live(stuck, DeskSettings(concurrency=1, **SHORT))
    live.thread.start()
    assert until(lambda: live.server.started)
    assert live.ask("/api/v1/recourse", json=ENDLESS).status_code == 504
    live.thread.join(60)
    assert not live.thread.is_alive()
    assert "does not end" in caplog.text
    assert "Income" not in caplog.text


# --- the end of the day ---


def test_stopping_returns_the_best_so_far_and_sends_away_who_waits(held):
    limits = DeskSettings(concurrency=1, drain=0.5, time_limit=600.0, patience=600.0)
    with ThreadPoolExecutor(2) as pool:
        with Live(held, limits) as live:
            asked = [pool.submit(live.ask, "/api/v1/recourse", json={"row": ROW}) for _ in range(2)]
            assert until(lambda: live.number("armin_searches_running") == live.number("armin_searches_waiting") == 1)
        # the server has ended; both were answered
        answers = sorted((one.result() for one in asked), key=lambda answer: answer.status_code)
    assert [answer.status_code for answer in answers] == [200, 503]
    assert answers[0].json()["outcome"] in ("plan", "best_so_far", "out_of_time")
    assert "closing" in answers[1].json()["detail"]
    assert answers[1].headers["retry-after"]


def test_a_desk_that_is_about_to_stop_says_so_and_still_answers(explainer):
    with Live(explainer, DeskSettings(notice=600.0)) as live:
        assert live.ask("/readyz").json() == {"status": "ready"}
        live.server.should_exit = True
        assert until(lambda: live.ask("/readyz").status_code == 503)
        assert live.ask("/livez").status_code == 200
        answer = live.ask("/api/v1/recourse", json={"row": ROW})
        assert (answer.status_code, answer.headers["connection"]) == (200, "close")
        live.server.force_exit = True  # as a second Ctrl+C does


def test_a_request_on_an_open_connection_is_answered_although_the_desk_is_stopping(explainer, monkeypatch):
    """Whoever keeps a connection cannot know that the desk is about to close it."""
    monkeypatch.setattr(server, "LINGER", 600.0)

    def is_closed():
        try:
            live.connect().close()
        except ConnectionRefusedError:
            return True
        return False

    with Live(explainer, DeskSettings()) as live:
        address = f"http://127.0.0.1:{live.port}"
        with httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
            assert client.get("/livez").headers.get("connection") != "close"
            live.server.should_exit = True
            assert until(is_closed)
            answer = client.post("/api/v1/recourse", json={"row": ROW})
            assert (answer.status_code, answer.headers["connection"]) == (200, "close")
    # nobody is left, so nobody is waited for


def test_a_full_queue_is_not_ready_but_alive(held):
    limits = DeskSettings(concurrency=1, queue=0, api_key="correct-horse-battery")
    with TestClient(create_app(bundle_of(held), limits), base_url="http://localhost") as client:
        key = {"X-API-Key": "correct-horse-battery"}
        assert client.get("/readyz").status_code == 200  # without a key
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(client.post, "/api/v1/recourse", json={"row": ROW}, headers=key)
            assert until(lambda: client.get("/readyz").status_code == 503)
            assert client.get("/livez").status_code == client.get("/healthz").status_code == 200
            Held.gate.set()
            assert asked.result().status_code == 200


def test_whoever_holds_more_connections_takes_the_next_one_later(monkeypatch):
    waited = []
    monkeypatch.setattr(connections.time, "sleep", waited.append)
    with socket.create_server(("127.0.0.1", 0)) as open_:
        address = open_.getsockname()
        with Listener.of(open_, lambda: len(waited)) as listener:
            for _ in range(3):
                with socket.create_connection(address):
                    listener.accept()[0].close()
            assert waited == [0, pytest.approx(0.0002), pytest.approx(0.0004)]
            listener.held = lambda: 1_000_000
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):  # another worker was sooner
                listener.accept()
            assert waited[-1] == 0.005


def test_whoever_waits_at_the_door_is_let_in_before_it_is_closed(explainer, monkeypatch):
    """Closing the listener at once would turn away whoever has connected and was not taken yet."""
    live = Live(explainer, DeskSettings())
    take = Listener.accept
    closing = threading.Event()

    def late(self):
        if not closing.is_set():
            raise BlockingIOError
        return take(self)

    monkeypatch.setattr(Listener, "accept", late)
    live.thread.start()
    assert until(lambda: live.server.started)
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(live.ask) for _ in range(3)]
        assert until(lambda: connected(live.port) == 3)
        let_in = server._let_in

        async def open_the_door(listener):
            closing.set()
            await let_in(listener)

        monkeypatch.setattr(server, "_let_in", open_the_door)
        live.server.should_exit = True
        assert [one.result().status_code for one in asked] == [200] * 3
    live.thread.join(60)
    assert not live.thread.is_alive()


def connected(port):
    """How many connections to a port of this machine there are, by the system's own table."""
    table = Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("needs the system's table of connections")
    own = f"0100007F:{port:04X}"
    lines = [line.split() for line in table.read_text().splitlines()]
    return sum(line[1] == own and line[3] == "01" for line in lines)


# --- limits of a client ---


def test_a_client_that_asks_too_much_is_told_when_to_come_back(explainer, caplog):
    limits = DeskSettings(per_minute=2)
    caplog.set_level(logging.INFO, "armin_desk")
    with TestClient(create_app(bundle_of(explainer), limits), base_url="http://localhost") as client:
        codes = [client.post("/api/v1/recourse", json={"row": ROW}).status_code for _ in range(2)]
        refused = client.post("/api/v1/path", json={"row": ROW})
        assert [*codes, refused.status_code] == [200, 200, 429]
        assert 0 < int(refused.headers["retry-after"]) <= 60
        assert "2 a minute" in refused.json()["detail"]
        assert client.get("/api/v1/schema").status_code == 200  # looking is free
        assert "armin_questions_limited_total 1.0" in client.get("/metrics").text
    names = {record.getMessage().split()[-1] for record in caplog.records if record.name == "armin_desk"}
    assert len(names) == 1  # one client, under one name
    assert re.fullmatch("[0-9a-f]{8}", names.pop())


@pytest.mark.parametrize("path", ["/api/v1/recourse%0A", "/api/v1/path%0a", "/livez%0A"])
def test_a_line_break_behind_a_path_is_no_way_round_the_limits(explainer, path):
    """A router's pattern matches before a line break, and nobody counted what was asked there."""
    with TestClient(
        create_app(bundle_of(explainer), DeskSettings(per_minute=1)), base_url="http://localhost"
    ) as client:
        assert client.post("/api/v1/recourse", json={"row": ROW}).status_code == 200
        assert client.post(path, json={"row": ROW}).status_code == 404


def test_whoever_is_no_proxy_cannot_say_to_be_another(explainer):
    """Of a proxy, the last address that it has not been told by another proxy counts; of others, their own."""
    calls = [{"X-Forwarded-For": f"192.0.2.{i}", "Forwarded": f"for=192.0.2.{i}"} for i in range(3)]
    own, known = [200, 429, 429], [200, 200, 200]
    for proxies, wanted in (((), own), (("127.0.0.1",), known), (("192.0.2.7",), own)):
        with Live(explainer, DeskSettings(per_minute=1, proxies=proxies)) as live:
            asked = [live.ask("/api/v1/recourse", json={"row": ROW}, headers=call) for call in calls]
        assert [answer.status_code for answer in asked] == wanted
    with Live(explainer, DeskSettings(per_minute=1, proxies=("127.0.0.1",))) as live:
        made_up = [{"X-Forwarded-For": f"192.0.2.{i}, 198.51.100.1"} for i in range(2)]
        asked = [live.ask("/api/v1/recourse", json={"row": ROW}, headers=call) for call in made_up]
    assert [answer.status_code for answer in asked] == [200, 429]


def test_a_body_has_one_end(explainer):
    """With a length and pieces, a proxy and the desk could each see another end, and one a request that the other does
    not."""
    head = "POST /api/v1/recourse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{}\r\n"
    body = json.dumps({"row": ROW}).encode()
    pieces = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    with Live(explainer, DeskSettings()) as live:
        for said, wanted in (
            ("Transfer-Encoding: chunked\r\n", b" 200 "),
            ("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", b" 400 "),
        ):
            with live.connect() as peer:
                peer.sendall(head.format(said).encode() + pieces)
                assert wanted in peer.recv(65536)


@settings(max_examples=60)
@given(
    st.integers(0, 5), st.integers(0, 8),
    st.lists(st.tuples(st.sampled_from(["a", "b", "2001:db8::1", "2001:db8::2"]), st.floats(0, 50_000)), max_size=40),
)  # fmt: skip
def test_nobody_gets_more_than_the_limits_and_nobody_less(minute, day, asked):
    """Over any stretch of time: at most a bucket and what flowed into it; and never refused below the limits."""
    now = [0.0]
    clients = Clients(DeskSettings(per_minute=minute, per_day=day), b"secret", clock=lambda: now[0])
    given_at: dict[str, list[float]] = {}
    for who, later in asked:
        now[0] += later
        one = "net" if ":" in who else who
        wait = clients.wait(who)
        seen = given_at.setdefault(one, [])
        recent = [at for at in seen if now[0] - at < 86_400]
        if wait:
            assert (minute and len([at for at in seen if now[0] - at < 60]) >= 1) or (day and len(recent) >= 1)
        else:
            seen.append(now[0])
    for times in given_at.values():
        for i, start in enumerate(times):
            for j in range(i, len(times)):
                if minute:
                    assert j - i + 1 <= minute + (times[j] - start) * minute / 60 + 1e-6
        if day:
            days = {}
            begin = None
            for at in times:
                begin = at if begin is None or at - begin >= 86_400 else begin
                days[begin] = days.get(begin, 0) + 1
            assert max(days.values(), default=0) <= day


def test_workers_keep_one_book_and_do_not_wait_for_a_stopped_one(tmp_path, monkeypatch):
    monkeypatch.setenv(SHARED, str(tmp_path))
    limits, now = DeskSettings(per_day=3), [5.0]
    one, two = (Clients(limits, b"secret", clock=lambda: now[0]) for _ in range(2))
    assert [worker.wait("192.0.2.1") for worker in (one, two, one, two)] == [0.0, 0.0, 0.0, 86_400.0]
    assert one.name("192.0.2.1") == two.name("192.0.2.1") != one.name("192.0.2.2")
    assert Clients(limits, b"another").name("192.0.2.1") != one.name("192.0.2.1")
    with closing(sqlite3.connect(tmp_path / "clients", isolation_level=None)) as book:
        book.execute("BEGIN IMMEDIATE")  # somebody who never gives it back
        assert one.wait("192.0.2.9") == 0.0
        assert one.wait("192.0.2.1") == 0.0
        book.execute("ROLLBACK")
        assert one.wait("192.0.2.1") == 86_400.0
        assert b"192.0.2" not in (tmp_path / "clients").read_bytes()
        now[0] += 86_400.0
        assert two.wait("192.0.2.7") == 0.0  # and whoever was silent for a day is forgotten
        assert book.execute("SELECT count(*) FROM clients").fetchone() == (1,)


def test_what_a_dead_worker_counted_is_kept(tmp_path):
    code = (
        "from armin_desk.metrics import Metrics\n"
        "m = Metrics()\nm.running.inc()\n"
        "[m.count('GET', '/livez', 200, 0.2) for _ in range(3)]\n"
        "import os\nprint(os.getpid())\n"
    )
    env = {**os.environ, SHARED: str(tmp_path)}
    pids = [
        int(subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True).stdout)
        for _ in range(2)
    ]
    for pid in pids:
        mark_process_dead(pid, tmp_path)
    show = "from armin_desk.metrics import Metrics\nprint(Metrics().text().decode())"
    shown = subprocess.run([sys.executable, "-c", show], env=env, capture_output=True, check=True, text=True).stdout
    assert 'armin_requests_total{method="GET",route="/livez",status="200"} 6.0' in shown
    assert not [pid for pid in pids if f'pid="{pid}"' in shown]


# --- workers ---


def supervised(folder, work, count, wanted, **limits):
    """Run a supervisor here until ``wanted``, then tell it to stop; what went wrong on the way."""
    settings = DeskSettings(**{"silence": 60.0, "drain": 0.0, "grace": 0.5, **limits})
    wrong = []

    def watch():
        wrong.extend([] if until(wanted) else [wanted])
        os.kill(os.getpid(), signal.SIGTERM)

    with socket.socket() as listener:
        watcher = threading.Thread(target=watch)
        watcher.start()
        supervise(work, listener, count, settings, str(folder))
        watcher.join()
    return wrong


def first_of(folder):
    return int(min(folder.glob("began-*"), key=lambda file: file.stat().st_mtime_ns).name.partition("-")[2])


def numbers(folder, what):
    return {int(file.name.partition("-")[2]) for file in folder.glob(f"{what}-*")}


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("fault", ["die", "die early", "stop"])
def test_a_worker_that_dies_or_falls_silent_is_replaced(tmp_path, fault):
    folder = tmp_path

    def another_is_ready():
        return len(numbers(folder, "began")) > 1 and numbers(folder, "ready") - {first_of(folder)}

    wrong = supervised(
        folder, Worker(str(folder), fault), 1, another_is_ready, silence=2.0 if fault == "stop" else 60.0
    )
    assert not wrong
    for pid in numbers(folder, "began"):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_what_a_worker_has_under_way_is_forgotten_when_it_is_gone(tmp_path, monkeypatch):
    gone = []
    monkeypatch.setattr(workers, "mark_process_dead", lambda pid, folder: gone.append((pid, folder)))
    wrong = supervised(tmp_path, Worker(str(tmp_path), "die"), 1, lambda: len(numbers(tmp_path, "ready")) > 1)
    assert not wrong
    assert {pid for pid, _ in gone} == numbers(tmp_path, "began")
    assert {folder for _, folder in gone} == {str(tmp_path)}


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_worker_that_does_not_stop_is_ended(tmp_path):
    work = Worker(str(tmp_path), "stubborn")
    assert not supervised(tmp_path, work, 1, lambda: numbers(tmp_path, "ready"), silence=2.0)
    assert first_of(tmp_path) not in numbers(tmp_path, "ended")
    for pid in numbers(tmp_path, "began"):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_what_cannot_be_loaded_ends_the_desk(tmp_path):
    with socket.socket() as listener, pytest.raises(DataError, match="no bundle"):
        supervise(Worker(str(tmp_path), "refuse"), listener, 1, DeskSettings(), str(tmp_path))


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_what_cannot_be_loaded_later_leaves_the_others_at_work(tmp_path, caplog):
    wrong = supervised(
        tmp_path, Worker(str(tmp_path), "refuse later"), 2, lambda: "a new worker cannot begin" in caplog.text
    )
    assert not wrong
    assert "a new worker cannot begin: DataError" in caplog.text
    assert numbers(tmp_path, "ended") == {first_of(tmp_path)}  # at the end, when it was told to


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("fault", ["", "load for ever"])
def test_workers_do_not_outlive_their_supervisor(tmp_path, fault):
    """However it went: a worker that had not begun yet stayed, and whoever read its standard error waited for ever."""
    script = tmp_path / "run.py"
    script.write_text(
        "import socket, sys\n"
        f"sys.path.append({str(Path(__file__).parents[1] / 'support')!r})\n"
        "from armin_desk.settings import DeskSettings\n"
        "from armin_desk.workers import supervise\n"
        "from desk_workers import Worker\n"
        "if __name__ == '__main__':\n"
        f"    work = Worker({str(tmp_path)!r}, {fault!r})\n"
        f"    supervise(work, socket.socket(), 2, DeskSettings(), {str(tmp_path)!r})\n"
    )
    wanted = "began" if fault else "ready"
    desk = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.PIPE)
    assert until(lambda: len(numbers(tmp_path, wanted)) == 2)
    desk.kill()
    desk.communicate(timeout=60)  # all who hold its standard error have ended


# --- the rest ---


def test_every_limit_is_on_the_command_line_with_the_same_default():
    said = Limits().settings()
    known = {field.name: field.default for field in fields(DeskSettings)}
    other = {"api_key", "hosts", "organisation", "pack", "fields", "templates"}  # options of their own
    assert set(said) == set(known) - other
    assert said == {name: known[name] for name in said}
    assert Limits(host_name=["Desk.example"]).settings()["hosts"] == ("desk.example",)


@pytest.mark.parametrize(
    "wrong", [{"silence": 0.5}, {"connections": 1}, {"per_day": -1}, {"header_time": 0.0}, {"proxies": ("proxy",)}]
)
def test_settings_out_of_their_rule_are_named(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        DeskSettings(**wrong)


def test_a_form_with_22_of_23_blanks_is_answered():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"x{i}": rng.integers(0, 50, 400) for i in range(23)})
    X += rng.integers(0, 50, (400, 1))
    y = np.where(X.sum(axis=1) > X.sum(axis=1).median(), "yes", "no")
    model = LogisticRegression(max_iter=200).fit(X, y)
    explainer = ARMIN(model, Schema.infer(X), desired="yes").fit(X)
    limits = DeskSettings(time_limit=0.5, grace=60.0)
    with TestClient(create_app(bundle_of(explainer), limits), base_url="http://localhost") as client:
        answer = client.post("/api/v1/recourse", json={"row": {"x0": int(X["x0"].min())}})
    assert answer.status_code == 200
    assert len(answer.json()["blanks"]) == 22
    assert answer.json()["outcome"] in ("plan", "best_so_far", "out_of_time", "already_accepted", "no_recourse")


def test_every_request_computes_in_one_thread():
    """Also after another thread, which lives on, has used the limit: as the one does that loads the bundle."""
    from threadpoolctl import ThreadpoolController

    from armin.explain.threads import one_thread

    pools = ThreadpoolController()

    async def asked():
        async def quiet():
            await asyncio.sleep(60)

        searches = Searches(DeskSettings(), Metrics())
        return await searches.run(lambda _: {pool["num_threads"] for pool in pools.info()}, None, quiet)

    with pools.limit(limits=2):
        with one_thread():
            pass
        assert asyncio.run(asked()) == {1}
        assert {pool["num_threads"] for pool in pools.info()} == {2}


def test_openmp_is_limited_in_every_thread():
    from threadpoolctl import ThreadpoolController

    from armin.explain.threads import one_thread

    pools = ThreadpoolController().select(user_api="openmp")
    if not pools.info():
        pytest.skip("no OpenMP here")
    both, free = threading.Barrier(2), threading.Barrier(2)

    def look(_):
        with pools.limit(limits=3):
            before = {pool["num_threads"] for pool in pools.info()}
            with one_thread(), one_thread():
                both.wait(60)  # one of them is the second
                inside = {pool["num_threads"] for pool in pools.info()}
                free.wait(60)
            return before, inside, {pool["num_threads"] for pool in pools.info()}

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(look, range(2))) == [({3}, {1}, {3})] * 2


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_stopped_worker_is_replaced_and_sigterm_waits_for_answers(tmp_path):
    """The whole desk: two workers, one is stopped; the other answers meanwhile, and a third takes its place."""
    from armin_desk.demo import save_demo_bundle

    bundle = save_demo_bundle(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    script = tmp_path / "run.py"
    script.write_text(
        "from armin_desk.serve import serve\nfrom armin_desk.settings import DeskSettings\n"
        f"if __name__ == '__main__':\n    serve({str(bundle)!r}, port={port}, workers=2, "
        "settings=DeskSettings(silence=3.0))\n"
    )
    desk = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.DEVNULL)

    def ask(route, **more):
        try:
            return httpx.request("POST" if more else "GET", f"http://127.0.0.1:{port}{route}", timeout=30,
                                 trust_env=False, **more)  # fmt: skip
        except httpx.TransportError:
            return None

    def workers():
        answer = ask("/metrics")
        return set(re.findall(r'armin_searches_running\{pid="(\d+)"\}', answer.text)) if answer else set()

    def counted(answer):
        text = answer.text if answer else ""
        under_way = re.findall(r"^armin_searches_(?:running|waiting)\S* (\S+)$", text, re.M)
        return sum(map(float, under_way)) + len(re.findall(r'"/api/v1/path",status="200"', text))

    try:
        assert until(lambda: len(workers()) == 2, 120)
        victim = min(workers())
        os.kill(int(victim), signal.SIGSTOP)
        assert until(lambda: victim not in (now := workers()) and len(now) == 2, 120)
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(ask, "/api/v1/path", json={"row": ROW}) for _ in range(4)]
            assert until(lambda: counted(ask("/metrics")) >= 1)  # some are under way, or done
            desk.send_signal(signal.SIGTERM)
            answers = [one.result() for one in asked]
        assert all(answer is None or answer.status_code == 200 for answer in answers)
        assert desk.wait(60) == 0
    finally:
        desk.kill()
        desk.wait()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_desk_whose_workers_get_stuck_answers_by_its_one_bundle(tmp_path):
    """The whole desk: each worker gets a search that does not end; then the file is replaced, and a worker dies."""
    from armin_desk.demo import save_demo_bundle

    bundle = save_demo_bundle(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    script = tmp_path / "run.py"  # workers read it too
    script.write_text(
        "import threading\nfrom armin_desk.serve import serve\nfrom armin_desk.service import Service\n"
        "from armin_desk.settings import DeskSettings\n"
        "Service.ask = lambda self, asked: threading.Event().wait()\n"
        f"if __name__ == '__main__':\n    serve({str(bundle)!r}, port={port}, workers=2, "
        "settings=DeskSettings(concurrency=1, time_limit=5.0, grace=0.5, queue=50, patience=60.0))\n"
    )
    with (tmp_path / "log").open("wb") as log:
        desk = subprocess.Popen([sys.executable, str(script)], stderr=log)

    def ask(route, row=None):
        more = {} if row is None else {"json": {"row": row}}
        with suppress(httpx.TransportError):
            url = f"http://127.0.0.1:{port}{route}"
            return httpx.request("POST" if more else "GET", url, timeout=100, trust_env=False, **more)

    def pids():
        answer = ask("/metrics")
        return set(re.findall(r'armin_searches_running\{pid="(\d+)"\}', answer.text)) if answer else set()

    def fingerprints():
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: ask("/api/v1/recourse", ROW), range(8)))
        assert {answer.status_code for answer in answers} == {200}
        return {answer.json()["certificate"]["fingerprint"]["bundle"] for answer in answers}

    def logged():
        return (tmp_path / "log").read_text()

    try:
        assert until(lambda: len(pids()) == 2, 120)
        first, before = pids(), fingerprints()
        assert len(before) == 1
        while first & pids():
            answer = ask("/api/v1/ask", ROW)
            assert answer.status_code == 504
            assert until(lambda: len(pids()) == 2, 120)  # a single one must not be left without another
        assert "does not end" in logged()
        assert fingerprints() == before
        bundle.write_bytes(save_demo_bundle(tmp_path, forest=True).read_bytes())
        os.kill(int(min(pids())), signal.SIGKILL)
        assert until(lambda: "is not the file that is wanted" in logged(), 120)
        assert fingerprints() == before
    finally:
        desk.send_signal(signal.SIGTERM)
        assert desk.wait(60) == 0
