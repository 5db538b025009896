"""The programs that a benchmark runs, and how it speaks to them."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
URL = re.compile(r"http://[0-9.]+:\d+")
TEXT = ("What is five and three? Answer briefly, please. " * 7)[:300]


def build(command, cwd=ROOT, **environment):
    subprocess.run(command, cwd=cwd, check=True, env={**os.environ, **environment})


def program(name):
    return TARGET / "release" / name


class Running:
    """A program that prints its address, stopped by its pid."""

    def __init__(self, command, environment=None):
        self.begin = time.monotonic()
        clean = {"PATH": os.environ["PATH"], "HOME": tempfile.gettempdir(), "LIBRARIAN_LOG": "warn"}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**clean, **(environment or {})})
        self.url = None
        for line in self.process.stdout:
            if found := URL.search(line):
                self.url = found.group()
                break

    def resident_kib(self, name="VmRSS"):
        """Memory that the process holds now, or by another name of `/proc/PID/status`."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+)", status).group(1))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(40)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def call(url, body=None):
    request = urllib.request.Request(url, method="POST" if body is not None else "GET")
    request.add_header("content-type", "application/json")
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(request, data, timeout=30) as answer:
        return json.load(answer)


def load(url, agents, clients, *more, text=TEXT):
    command = [program("load"), "--url", url, "--clients", str(clients), "--text", text, *map(str, more)]
    if agents:
        command += ["--agents", ",".join(agents)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    measured = json.loads(printed)
    assert measured["errors"] == 0, measured
    return measured


def start_server(folder, vendor):
    data = ["--data-dir", folder, "--port", "0"]
    server = Running([program("librarian"), "serve", *data], {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": vendor.url + "/v1"})
    while True:
        try:
            call(server.url + "/health")
            return server
        except OSError:
            time.sleep(0.001)
