"""Measures search on large stores: an agent with many messages, and an archive with many passages.

Each store is filled by a program, outside of the server, then opened by a server that is asked over one keep-alive
connection, so a figure is what a caller waits, not only what the search itself takes.
"""

import http.client
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import tempfile
import time

from bench_programs import ROOT, Running, load, program, start_server

KINDS = ("questions", "common words", "rare words", "long questions")
SEARCHES = 100
INSERTS = 200
RESTARTS = 3
# Two agents take turns, so that both see the same machine; a turn is long enough for the work that follows a message.
SEND_ROUNDS = 12
SENDS_EACH = 25
FEW = 100
OWN_SET = "eval/three-lives.json"

# The words of `crates/retrieval/examples/fill.rs`, so that the queries find something.
SYLLABLES = "ba cor den fil gam hol jus kel lam mer nor pas quin rel sal tor ul ver wil yon zel tri gra sto".split()
COMMON = """house garden work time day people water dinner train music friend letter money doctor dog school summer
kitchen book market winter brother window road street""".split()


class Writer:
    """Writes queries and passages, the same ones every time."""

    def __init__(self):
        self.dice = random.Random(3)

    def rare(self):
        number = 2 ** self.dice.randint(6, 16)
        number += self.dice.randrange(number) - 1
        word = ""
        while number:
            word += SYLLABLES[number % 24]
            number //= 24
        return word

    def common(self):
        return self.dice.choice(COMMON)

    def query(self, number):
        """The kinds in turn."""
        question = f"what did my {self.common()} say about the {self.common()} and {self.rare()} {self.rare()}?"
        match KINDS[number % len(KINDS)]:
            case "questions":
                return question
            case "common words":
                return f"the {self.common()} in the {self.common()}"
            case "rare words":
                return f"{self.rare()} {self.rare()}"
            case "long questions":
                return f"{question} I think that it was on a {self.common()} with {self.passage(12)}"

    def passage(self, words=20):
        return " ".join(self.dice.choice((self.common, self.rare))() for _ in range(words))


class Client:
    """One keep-alive connection, authorised by the secret in the data directory."""

    def __init__(self, server, folder):
        secret = json.loads((folder / "owner.lock").read_text())["secret"]
        self.headers = {"content-type": "application/json", "authorization": f"Bearer {secret}"}
        self.connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=300)

    def ask(self, method, path, body):
        """Milliseconds until the whole answer is here, and the answer."""
        text = json.dumps(body).encode()
        begin = time.perf_counter()
        self.connection.request(method, path, text, self.headers)
        answer = self.connection.getresponse()
        read = answer.read()
        taken = (time.perf_counter() - begin) * 1000
        assert answer.status in (200, 201), (answer.status, read[:500])
        return taken, json.loads(read)

    def search(self, agent, where, query):
        body = {"query": query, "where": where, "limit": 5}
        taken, found = self.ask("POST", f"/console/v1/agents/{agent}/search", body)
        assert found["results"], f"nothing was found for {query!r}"
        return taken


def fill(folder, kind, count):
    """Makes an agent with so many messages or passages, and gives its id."""
    command = [program("examples/fill"), folder / "librarian.db", kind, str(count)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def forget_pages(folder):
    """Asks the system to drop what it holds of the store's file, as after a restart of the machine."""
    file = os.open(folder / "librarian.db", os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


class Searched:
    """What searches took on several servers, one started after the other: memory and first searches differ by luck."""

    def __init__(self, folder, vendor, agent, where):
        self.first, self.taken, self.resident, self.peak = [], [], [], []
        for _ in range(RESTARTS):
            writer = Writer()
            with start_server(folder, vendor) as server:
                client = Client(server, folder)
                self.first.append(client.search(agent, where, writer.query(0)))
                self.taken += searches(client, agent, where, writer)
                self.resident.append(megabytes(server))
                self.peak.append(megabytes(server, "VmHWM"))

    def rows(self, name, aims):
        """Rows of the table; the aims are those of the first search, of p50 and of memory."""
        of_kind = [statistics.median(self.taken[number :: len(KINDS)]) for number in range(len(KINDS))]
        kinds = [f"{kind} {taken:.1f}" for kind, taken in zip(KINDS, of_kind)]
        return [
            (f"{name}: first search after a start", f"{statistics.median(self.first) / 1000:.2f} s", aims[0]),
            (f"{name}: search, p50", f"{statistics.median(self.taken):.1f} ms", aims[1]),
            (f"{name}: search, p95", f"{p95(self.taken):.1f} ms", ""),
            (f"{name}: search, p50 by kind, ms", ", ".join(kinds), ""),
            (f"{name}: resident after the searches", span(self.resident), aims[2]),
            (f"{name}: most that was ever resident until then", span(self.peak), ""),
        ]


def first_search_from_disk(folder, vendor, agent, where):
    """The first search where the system holds nothing of the store, in milliseconds."""
    forget_pages(folder)
    with start_server(folder, vendor) as server:
        return Client(server, folder).search(agent, where, Writer().query(0))


def searches(client, agent, where, writer):
    """Milliseconds of each search; the kinds of queries take turns."""
    return [client.search(agent, where, writer.query(number)) for number in range(SEARCHES)]


def p95(taken):
    return sorted(taken)[len(taken) * 95 // 100 - 1]


def megabytes(server, name="VmRSS"):
    return server.resident_kib(name) * 1024 / 1e6


def span(values):
    return f"{min(values):.0f} to {max(values):.0f} MB"


def cpu_by_thread(server):
    """Nanoseconds each thread has run: the process's own count is in hundredths of a second, too coarse here."""
    threads = pathlib.Path(f"/proc/{server.process.pid}/task").iterdir()
    return {thread.name: int((thread / "schedstat").read_text().split()[0]) for thread in threads}


def sends(server, client, agents):
    """A message's p50 in milliseconds and the server's CPU time in microseconds, for each agent.

    Both are medians of the rounds: every few thousand messages the server indexes a stretch, which is one round's luck.
    """
    for agent in agents:
        client.ask("PATCH", f"/v1/agents/{agent}", {"model": "openai/gpt-4o-mini"})
        load(server.url, [agent], 1, "--count", 5)
    p50, cpu = {agent: [] for agent in agents}, {agent: [] for agent in agents}
    for number in range(SEND_ROUNDS):
        for agent in agents if number % 2 else reversed(agents):
            before = cpu_by_thread(server)
            p50[agent].append(load(server.url, [agent], 1, "--count", SENDS_EACH)["p50_us"] / 1000)
            ran = sum(now - before.get(thread, 0) for thread, now in cpu_by_thread(server).items())
            cpu[agent].append(ran / SENDS_EACH / 1000)
    return [[statistics.median(of[agent]) for agent in agents] for of in (p50, cpu)]


def searches_after_sends(server, client, agent, writer):
    """p50 of searches that each follow a new message."""
    taken = []
    for number in range(SEARCHES // 4):
        load(server.url, [agent], 1, "--count", 1)
        taken.append(client.search(agent, "conversation", writer.query(number)))
    return statistics.median(taken)


def measure_messages(folder, vendor, count):
    many, few = fill(folder, "messages", count), fill(folder, "messages", FEW)
    searched = Searched(folder, vendor, many, "conversation")
    from_disk = first_search_from_disk(folder, vendor, many, "conversation")
    writer = Writer()
    with start_server(folder, vendor) as server:
        client = Client(server, folder)
        searches(client, many, "conversation", writer)
        client.search(few, "conversation", writer.query(1))
        sent, cpu = sends(server, client, (many, few))
        after = searches_after_sends(server, client, many, writer)
        grown = megabytes(server)
    name = f"{count:,} messages"
    return [
        *searched.rows(name, ("< 3 s", "< 50 ms", "< 700 MB")),
        (f"{name}: first search, file not in the page cache", f"{from_disk / 1000:.2f} s", "< 3 s"),
        (f"{name}: search right after a message, p50", f"{after:.1f} ms", "< 50 ms"),
        (f"{name}: resident after sending, too", f"{grown:.0f} MB", "< 700 MB"),
        (f"sending a message, p50, {FEW} stored", f"{sent[1]:.2f} ms", ""),
        (f"sending a message, p50, {count:,} stored", f"{sent[0]:.2f} ms", ""),
        ("ratio of the two", f"{sent[0] / sent[1]:.2f}", "within 1.20"),
        ("ratio of the server's CPU time for them", f"{cpu[0] / cpu[1]:.2f} ({cpu[0]:.0f} and {cpu[1]:.0f} µs)", ""),
    ]


def measure_passages(folder, vendor, count):
    agent = fill(folder, "passages", count)
    searched = Searched(folder, vendor, agent, "archive")
    writer = Writer()
    with start_server(folder, vendor) as server:
        client = Client(server, folder)
        searches(client, agent, "archive", writer)
        path = f"/v1/agents/{agent}/archival-memory"
        inserts = [client.ask("POST", path, {"text": writer.passage()})[0] for _ in range(INSERTS)]
        after = statistics.median(searches(client, agent, "archive", writer))
        grown = megabytes(server)
    name = f"{count:,} passages"
    return [
        *searched.rows(name, ("", "< 10 ms", "< 200 MB")),
        (f"{name}: insert, p50", f"{statistics.median(inserts):.2f} ms", "< 2 ms"),
        (f"{name}: insert, p95", f"{p95(inserts):.2f} ms", ""),
        (f"{name}: search after the inserts, p50", f"{after:.1f} ms", "< 10 ms"),
        (f"{name}: resident after the inserts, too", f"{grown:.0f} MB", "< 200 MB"),
    ]


def recall():
    """Our own set of questions, through the same search."""
    command = [program("librarian"), "eval", "retrieval", ROOT / OWN_SET, "--json"]
    clean = {"PATH": os.environ["PATH"], "HOME": tempfile.gettempdir()}
    found = json.loads(subprocess.run(command, check=True, capture_output=True, env=clean).stdout)
    figures = f"recall at 5 {found['recall_at_5']:.3f}, at 10 {found['recall_at_10']:.3f}"
    return f"{OWN_SET}, {found['questions']} questions over {found['turns']:,} turns: {figures}"


def measure(messages, passages):
    with tempfile.TemporaryDirectory(prefix="librarian-bench-") as folder:
        stores = [pathlib.Path(folder, name) for name in ("passages", "messages")]
        for store in stores:
            store.mkdir(mode=0o700)
        with Running([program("fake-vendor"), "--plain", "--pieces", "24"]) as vendor:
            rows = measure_passages(stores[0], vendor, passages) + measure_messages(stores[1], vendor, messages)
    machine = f"{os.cpu_count()} cores, {platform.machine()}"
    print(f"Search over HTTP, one caller at a time; built-in embedder; {machine}; release build;")
    print(f"{RESTARTS} servers, one after the other, each with a first search (median) and then {SEARCHES} more for 5 results;")
    print(f"kinds of queries take turns: {', '.join(KINDS)}; {INSERTS} inserts, one after the other;")
    print(f"{SEND_ROUNDS * SENDS_EACH} messages to each of two agents, {SENDS_EACH} at a time in turn, both searched before.\n")
    print("| what | measured | aim |")
    print("|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(f"\n{recall()}")
