"""What OpenAI's door costs: models asked directly, the first words of an agent, and streams that stay open."""

import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time
import urllib.request

from bench_programs import Running, call, load, program, start_server

CLIENTS = 32
STREAMS = 2_000
# A run of an agent holds a place in the queue, which has fewer of them.
AGENT_STREAMS = 1_000
AGENTS = 8
HISTORY = 200
FLOOR_PORT = 9122
MODEL = "openai/gpt-4o-mini"
ASKED = {
    "messages": [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": "What is five and three? Answer briefly, please."},
    ],
    "max_tokens": 64,
}
OPEN = "[[say:These words are the first half of an answer that never ends.]][[stall]]"


def config(folder):
    """A data directory whose server lets models be asked directly."""
    os.makedirs(folder, exist_ok=True)
    pathlib.Path(folder, "librarian.toml").write_text("[gateway]\npass_through = true\n")
    return folder


def written(folder, model, stream):
    body = {"model": model, "stream": stream, **ASKED}
    if stream:
        body["stream_options"] = {"include_usage": True}
    path = pathlib.Path(folder, f"{model.replace('/', '-')}-{stream}.json")
    path.write_text(json.dumps(body, separators=(",", ":")))
    return path


def start_floor(binary, vendor):
    if not binary:
        return None
    upstream = vendor.url.removeprefix("http://")
    process = subprocess.Popen([binary, "passthrough", f"port={FLOOR_PORT}", f"upstream={upstream}"])
    for _ in range(500):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{FLOOR_PORT}/health", timeout=1).read()
            return process
        except OSError:
            time.sleep(0.01)
    raise RuntimeError("the floor program does not answer")


def measure_pass_through(folder, vendor, server, floor, seconds, rows):
    """One round: each kind of request to the vendor alone, through the floor program, and through the server."""
    targets = [("vendor alone", vendor.url, "gpt-4o-mini", None), ("pass-through", server.url, MODEL, server.process.pid)]
    if floor:
        targets.append(("floor", f"http://127.0.0.1:{FLOOR_PORT}", "gpt-4o-mini", floor.pid))
    for stream in (False, True):
        for clients in (1, CLIENTS):
            for name, url, model, pid in targets:
                more = ["--mode", "vendor", "--body", written(folder, model, stream), "--seconds", seconds]
                measured = load(url, [], clients, *more, *(["--pid", pid] if pid else []))
                kind = "24 events" if stream else "whole"
                rows.setdefault((f"{name}, {kind}", clients), []).append(measured)


def measure_first_words(folder, vendor, server, seconds, rows):
    """One round: streams of an agent's session, then the vendor alone with the body that it was sent last."""
    names = [f"bench-{time.monotonic_ns()}-{number}" for number in range(AGENTS)]
    for name in names:
        call(f"{server.url}/v1/agents/", {"name": name, "model": MODEL, "memory_blocks": []})
    load(server.url, names, 1, "--mode", "openai", "--count", HISTORY // 2)
    agent = load(server.url, names, 1, "--mode", "openai", "--stream", "--seconds", seconds, "--per-agent", 4)
    body = pathlib.Path(folder, "agent.json")
    body.write_text(json.dumps(call(vendor.url + "/_requests")[-1]["body"]))
    alone = load(vendor.url, [], 1, "--mode", "vendor", "--body", body, "--seconds", seconds)
    rows.setdefault("agent", []).append(agent["first_p50_us"])
    rows.setdefault("alone", []).append(alone["first_p50_us"])


def measure_open_streams(folder):
    """KiB of the server for each stream that is open, by who answers."""
    found = {}
    for name, streams in ((MODEL, STREAMS), ("held", AGENT_STREAMS)):
        with Running([program("fake-vendor")]) as vendor, start_server(config(f"{folder}/{streams}"), vendor) as server:
            call(f"{server.url}/v1/agents/", {"name": "held", "model": MODEL, "memory_blocks": []})
            more = ["--mode", "openai", "--stream", "--pid", server.process.pid]
            load(server.url, [name], CLIENTS, *more, "--seconds", 1)
            found[name] = load(server.url, [name], streams, *more, "--hold", text=OPEN)["kib_each"]
    return found[MODEL], found["held"]


def measure(seconds, rounds, floor_binary, print_table):
    """All rounds; prints what they found."""
    rows, words = {}, {}
    with tempfile.TemporaryDirectory(prefix="librarian-bench-") as folder:
        with Running([program("fake-vendor"), "--plain", "--pieces", "24"]) as vendor:
            floor = start_floor(floor_binary, vendor)
            with start_server(config(f"{folder}/direct"), vendor) as server:
                for _ in range(rounds):
                    measure_pass_through(folder, vendor, server, floor, seconds, rows)
                    measure_first_words(folder, vendor, server, seconds, words)
            if floor:
                floor.terminate()
                floor.wait(10)
        direct, agent = measure_open_streams(folder)
    print(f"\nmodels asked directly, {rounds} rounds of {seconds:g} s, medians:\n")
    print_table(rows)
    middle = lambda key, name: statistics.median(one[name] for one in rows[key])
    added = middle(("pass-through, whole", 1), "p50_us") - middle(("vendor alone, whole", 1), "p50_us")
    print(f"\nadded by a pass-through at 1 client, p50: {added / 1000:.3f} ms")
    begun, alone = (statistics.median(words[who]) for who in ("agent", "alone"))
    print(f"first words of an agent's session after {begun / 1000:.2f} ms, of the vendor alone after {alone / 1000:.2f} ms")
    print(f"an open stream: {direct:.1f} KiB passed through ({STREAMS}), {agent:.1f} KiB of an agent ({AGENT_STREAMS})")
