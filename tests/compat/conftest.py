"""Starts the real server and the fake vendor for the tests of the official SDKs."""

import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import threading
import time
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
URL = re.compile(r"http://127\.0\.0\.1:\d+")


class Program:
    """A program that prints its address, and that is stopped by its pid."""

    def __init__(self, command, env):
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.url = self._wait_for_url()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _wait_for_url(self):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            line = self.lines.get(timeout=30)
            assert line is not None, f"{self.process.args} ended with {self.process.wait()}"
            if found := URL.search(line):
                return found.group()
        raise AssertionError("no address was printed")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=40) == 0

    def kill(self):
        """Ends it without a warning, as a power cut would."""
        self.process.kill()
        self.process.wait()


class Server(Program):
    """`librarian serve` on a data directory of its own, with a clean environment."""

    def __init__(self, data_dir, **extra):
        self.data_dir = data_dir
        env = {"PATH": os.environ["PATH"], "HOME": str(data_dir), **extra}
        command = [PROGRAMS / "librarian", "serve", "--port", "0", "--data-dir", str(data_dir)]
        super().__init__(command, env)
        self._wait_until_healthy()

    def _wait_until_healthy(self):
        deadline = time.monotonic() + 30
        while True:
            try:
                with urllib.request.urlopen(self.url + "/health") as answer:
                    assert json.load(answer)["status"] == "ok"
                    return
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.02)


@pytest.fixture
def start(tmp_path):
    """Starts servers on one data directory and stops those that a test leaves running."""
    running = []

    def start_server(**extra):
        server = Server(tmp_path / "data", **extra)
        running.append(server)
        return server

    yield start_server
    for server in running:
        if server.process.poll() is None:
            server.stop()


class Vendor(Program):
    """The fake vendor. What it answers stands in the last user message."""

    def __init__(self):
        super().__init__([PROGRAMS / "fake-vendor", "--port", "0"], {"PATH": os.environ["PATH"]})

    @property
    def environment(self):
        """What a server has to be told to ask this vendor."""
        return {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": self.url + "/v1"}

    def requests(self):
        """The bodies of all chat requests since the last `forget`."""
        with urllib.request.urlopen(self.url + "/_requests") as answer:
            return [request["body"] for request in json.load(answer)]

    def forget(self):
        """Forgets the requests so far."""
        urllib.request.urlopen(urllib.request.Request(self.url + "/_requests", method="DELETE")).close()


@pytest.fixture(scope="session")
def only_vendor():
    """The vendor that all tests share."""
    program = Vendor()
    yield program
    program.kill()


@pytest.fixture
def vendor(only_vendor):
    """The fake vendor, as a program, with no memory of other tests."""
    only_vendor.forget()
    return only_vendor


@pytest.fixture
def mortal_vendor():
    """A vendor that a test may end."""
    program = Vendor()
    yield program
    program.kill()
