"""Tests the live figures of wallshim-collector: against the report, with hostile HTTP clients, and with Prometheus.

    collector_metrics.py BUILD CASE|--list
"""
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request

import cases
from collector_runs import PATIENCE, ROOT, Client, Place, check, ended_well, hello, message, wait_for, DATA

COUNT = 20000
SAMPLE = re.compile(r'(\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
SKIPPED = 77


def socket_of(place):
    return f"{place.folder}/run/metrics"


def start(place, *switches):
    place.start("--metrics", f"unix:{socket_of(place)}", *switches)
    wait_for(lambda: answers(place), "the socket of the figures")  # it is created after the socket for programs


def answers(place):
    with contextlib.suppress(OSError):
        connect(place).close()
        return True
    return False


def connect(place):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(PATIENCE)
    client.connect(socket_of(place))
    return client


def ask(place, request):
    """Sends the bytes of a request. Returns the whole answer."""
    with connect(place) as client:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.sendall(request)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while part := client.recv(65536):
                answer += part
    return answer


def page(place, accept=""):
    head, _, body = ask(place, f"GET /metrics HTTP/1.1\r\nHost: x\r\n{accept}\r\n".encode()).partition(b"\r\n\r\n")
    check(head.startswith(b"HTTP/1.1 200 "), head)
    check(f"Content-Length: {len(body)}".encode() in head, head)
    return head.decode(), body.decode()


def samples(place):
    """Returns {(name, labels): value}. Checks that no series occurs twice."""
    found = {}
    for line in page(place)[1].splitlines():
        if not line.startswith("#"):
            name, labels, value = SAMPLE.match(line).groups()
            key = (name, tuple(sorted(LABEL.findall(labels or ""))))
            check(key not in found, f"twice: {line}")
            found[key] = float(value)
    return found


def total(found, name, **labels):
    return sum(value for (other, has), value in found.items() if other == name and set(labels.items()) <= set(has))


def sample_program(place, sample, *words, **environment):
    """Runs a sample on two simulated GPUs with the collector."""
    return subprocess.run([f"{ROOT}/tests/run_preloaded.sh", place.build, f"{place.build}/samples/{sample}", *words],
                          cwd=place.folder, capture_output=True, text=True, timeout=PATIENCE * 2, check=True,
                          env={**os.environ, "WALLSHIM_COLLECTOR": f"unix:{place.socket}", "SIMGPU_DEVICES": "2", **environment})


def near(live, reported, what):
    """Checks that a live figure is near the report's. Both use the same records, but convert clocks in slightly
    different ways."""
    check(abs(live * 1e9 - reported) <= 0.05 * reported + 300000, f"{what}: live {live * 1e9:.0f}, report {reported}")


def agrees(place, found, trace):
    """Checks that the figures of an ended process agree with its report."""
    report = json.loads(place.wallshim("report", "--json", trace))
    [process] = report["processes"]
    pid = next(client["pid"] for client in place.manifest()["clients"] if client["file"] == os.path.basename(trace))
    rows = [json.loads(line) for line in place.wallshim("dump", "--json", "--family", "op", trace).splitlines()]
    check(total(found, "wallshim_launches_total", pid=str(pid)) == len(rows), "all operations are counted")
    check(total(found, "wallshim_records_received_total", pid=str(pid), family="op") == len(rows), "and received")
    copied = sum(row["bytes"] for device in process["devices"] for row in device["copies"] if "to" in row["name"].lower())
    check(total(found, "wallshim_copied_bytes_total", pid=str(pid)) == copied, f"{copied} bytes copied")
    for device in process["devices"]:
        here = {"pid": str(pid), "device": device["uuid"]} if "uuid" in device else {"pid": str(pid)}
        near(total(found, "wallshim_device_busy_seconds_total", **here), device["busy_ns"], "busy")
        near(total(found, "wallshim_device_gap_seconds_total", **here), device["idle_ns"], "gaps")
        near(total(found, "wallshim_exposed_communication_seconds_total", **here), device["exposed_comm_ns"], "exposed")
        for group, key in (("compute", "compute_ns"), ("communication", "comm_ns"), ("memory", "memory_ns")):
            near(total(found, "wallshim_device_class_seconds_total", **here, **{"class": group}), device[key], group)
        for cause in ("sync", "launch"):
            reported = sum(row["total_ns"] for row in device["gap_causes"] if row["cause"] == cause)
            live = total(found, "wallshim_device_gap_seconds_total", **here, cause=cause) * 1e9
            check(live <= 1.5 * reported + 0.2 * device["idle_ns"] + 1e6, f"{cause}: live {live}, report {reported}")
    return device


def case_report(build):
    with Place(build) as place:
        start(place)
        sample_program(place, "train_driver", "--steps", "50", WALLSHIM_EVENT_PLACEMENT="pairs")
        sample_program(place, "ddp", "--steps", "20")
        wait_for(lambda: total(samples(place), "wallshim_process_connected") == 0 and
                 total(samples(place), "wallshim_collector_clients") == 0, "the ends")
        found, text = samples(place), page(place)[1]
        place.stop()
        check(len(place.traces()) == 3, place.traces())
        for trace in place.traces():
            agrees(place, found, trace)
        check(total(found, "wallshim_exposed_communication_seconds_total") > 0, "ddp communicates")
        check(total(found, "wallshim_records_untrusted_total") == 0, "all is believed")
        check(total(found, "wallshim_late_operations_total") == 0, "nothing was late")
        check(total(found, "wallshim_collector_frames_undecoded_total") == 0, "all is decoded")
        check(total(found, "wallshim_collector_frames_skipped_total") == 0, "in time")
        check(total(found, "process_resident_memory_bytes") > 1 << 20, "the collector's memory")
        check(not re.search(r"gemm|sgd|bias", text), "names of kernels are no labels")


def case_while(build):
    """There are figures while the program runs, also after the collector was started again."""
    with Place(build) as place:
        start(place)
        program = place.program(5 * COUNT, 8000, WALLSHIM_BACKEND="events", WALLSHIM_EVENT_PLACEMENT="pairs")
        for _ in range(2):
            wait_for(lambda: total(samples(place), "wallshim_device_busy_seconds_total") > 0, "busy time")
            first = samples(place)
            check(total(first, "wallshim_process_connected") == 1 and program.poll() is None, "it runs")
            wait_for(lambda before=first: total(samples(place), "wallshim_device_busy_seconds_total") >
                     total(before, "wallshim_device_busy_seconds_total"), "more of it")
            place.kill()
            start(place)
        ended_well(program, 5 * COUNT)
        wait_for(lambda: total(samples(place), "wallshim_process_connected") == 0, "the end")
        check(total(samples(place), "wallshim_records_untrusted_total") == 0, "names are known after a restart")
        place.stop()


def case_killed(build):
    """The figures count the records that the collector saves from the memory of killed programs. A program that is killed
    right after a flush leaves none, so several are killed."""
    with Place(build) as place:
        start(place)
        saved = []
        while not sum(saved):
            check(len(saved) < 20, "nothing was saved, so this shows nothing")
            before = total(samples(place), "wallshim_records_received_total", family="op")
            killed = place.program(50 * COUNT, 20000)
            wait_for(lambda had=before: total(samples(place), "wallshim_records_received_total", family="op") > had, "operations")
            time.sleep(0.13)
            killed.kill()
            killed.communicate(timeout=PATIENCE)
            wait_for(lambda: place.words().count("last rows were saved") > len(saved), "the salvage")
            saved = [int(rows) for rows in re.findall(r"(\d+) last rows", place.words())]
        wait_for(lambda: total(samples(place), "wallshim_records_salvaged_total") == sum(saved), f"{saved} records")
        place.stop()


def case_formats(build):
    with Place(build) as place:
        start(place)
        ended_well(place.program(COUNT, 20), COUNT)
        wait_for(lambda: total(samples(place), "wallshim_launches_total") == COUNT, "the launches")
        for name in ("hangs_total", "jobs_hanging", 'dumps_total{cause="slow-step"}'):
            check(f"\nwallshim_collector_{name} 0\n" in page(place)[1], name)
        head, text = page(place)
        check("text/plain; version=0.0.4" in head and not text.endswith("# EOF\n"), head)
        if shutil.which("promtool"):
            done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
            check(done.returncode == 0 and not done.stdout + done.stderr, f"promtool: {done}")
        else:
            print("no promtool: not checked")
        head, text = page(place, "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n")
        check("application/openmetrics-text; version=1.0.0" in head and text.endswith("\n# EOF\n"), head)
        families = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M)
        check(len(families) == len(set(families)), "each family once")
        check(not [name for name, kind in families if name.endswith("_total") or kind not in ("counter", "gauge", "info")], families)
        units = dict(re.findall(r"^# UNIT (\S+) (\S+)$", text, re.M))
        check(units and all(name.endswith("_" + unit) for name, unit in units.items()), units)
        check("# TYPE wallshim_build info\n" in text and "\nwallshim_build_info{" in text, "the build's version")
        for name in re.findall(r"^(\w+)(?:\{| )", text, re.M):
            check(any(name in (family, family + "_total", family + "_info") for family, _ in families), name)
        place.stop()


def case_hostile(build):
    """Clients that send rubbish, say nothing, or never read do not keep other clients from the figures or from the
    collector."""
    with Place(build) as place:
        start(place)
        before = total(samples(place), "process_resident_memory_bytes")
        for request in (b"\r\n\r\n", b"GET\r\n\r\n", b"\0\xff" * 5000, b"GET /metrics HTTP/9.9\r\n\r\n", b"GET " + b"/x" * 40000,
                        b"GET /metrics HTTP/1.1\r\n" + b"a: b\r\n" * 20000 + b"\r\n", b"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
                        b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 100000,
                        b"DELETE /metrics HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00" + b"t" * 600):
            answer = ask(place, request + b"\r\n\r\n")
            check(not answer.startswith(b"HTTP/1.1 200"), (request[:60], answer[:200]))
        check(b" 404 " in ask(place, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")[:20], "another path")
        check(b" 405 " in ask(place, b"PUT /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")[:20], "another method")
        head = ask(place, b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        check(head.startswith(b"HTTP/1.1 200") and head.endswith(b"\r\n\r\n"), head)
        with contextlib.ExitStack() as stack:
            # Clients take all connections: some send a byte now and then, some ask without reading, some send nothing.
            idle = []
            for number in range(60):
                client = stack.enter_context(socket.socket(socket.AF_UNIX))
                client.setblocking(False)
                with contextlib.suppress(OSError):
                    client.connect(socket_of(place))
                    client.send((b"GET /metrics HTTP/1.1\r\n", b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 50, b"")[number % 3])
                idle.append(client)
            ended_well(place.program(COUNT, 20), COUNT)  # the collector still takes traces
            trickle = time.monotonic()
            served = []

            def serve():
                for client in idle:
                    with contextlib.suppress(OSError):
                        client.send(b"a")
                with contextlib.suppress(AssertionError, OSError):
                    served.append(page(place))
                return served
            wait_for(serve, "an answer in spite of them")
            print(f"served after {time.monotonic() - trickle:.1f} s")
        wait_for(lambda: total(samples(place), "wallshim_launches_total") == COUNT, "the launches")
        for _ in range(300):
            page(place)
        check(total(samples(place), "process_resident_memory_bytes") < before + (48 << 20), "its memory grew")
        # The figures count a client whose bytes the collector refuses.
        with Client(place) as liar:
            liar.send(hello())
            liar.send(message(DATA, 0, b"x" * 1000))
            check(liar.is_cut_off(), "rubbish was taken")
        wait_for(lambda: total(samples(place), "wallshim_collector_clients_cut_off_total") == 1, "the cut")
        wait_for(lambda: total(samples(place), "wallshim_collector_refused_bytes_total") == 1000, "refused bytes")
        place.stop()
        check(not os.path.exists(socket_of(place)), "the socket is still there")


def refused(place, where, *switches):
    done = subprocess.run([f"{place.build}/collector/wallshim-collector", "--listen", f"unix:{place.socket}", "--dir", place.jobs,
                           "--metrics", where, *switches], capture_output=True, text=True, timeout=PATIENCE, check=False)
    check(done.returncode == 2 and done.stderr.count("\n") == 1, done)
    return done.stderr


def case_address(build):
    with Place(build) as place:
        for where in ("0.0.0.0:9753", "[::]:9753", "192.0.2.1:9753", "8.8.8.8:80", "[2001:db8::1]:80"):
            check("other machines can reach this address" in refused(place, where), where)
        for where in ("", "9753", ":9753", "localhost", "localhost:", "localhost:99999x", "example.com:80", "::1:80", "[::1:80", "[]:1"):
            check("give unix:PATH, or HOST:PORT" in refused(place, where), where)
        check("other" not in refused(place, "192.0.2.1:9753", "--metrics-public"), "asked for, but no address of this machine")
        os.mkdir(f"{place.folder}/open", 0o755)
        os.chmod(f"{place.folder}/open", 0o755)
        check("others may use this folder" in refused(place, f"unix:{place.folder}/open/metrics"), "a folder of all")
        check(not os.path.exists(place.socket), "a socket was left behind")
        port = free_port()
        place.start("--metrics", f"localhost:{port}")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
            check(b"wallshim_build_info" in answer.read(), "figures on the loopback")
        place.stop()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def query(port, words):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(words)}", timeout=PATIENCE) as answer:
        return json.load(answer)["data"]["result"]


@contextlib.contextmanager
def prometheus(place, target):
    """A server that scrapes the target each half second. Yields its port."""
    port, folder = free_port(), f"{place.folder}/prometheus"
    os.mkdir(folder)
    with open(f"{folder}/prometheus.yml", "w", encoding="utf-8") as file:
        file.write("global: {scrape_interval: 500ms, scrape_timeout: 500ms}\n"
                   f"scrape_configs: [{{job_name: wallshim, honor_labels: true, static_configs: [{{targets: ['127.0.0.1:{target}']}}]}}]\n")
    with open(f"{folder}/log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                   f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log, cwd=folder)
    try:
        yield port
    finally:
        server.kill()
        server.wait()


def up(port):
    try:
        return [row["value"][1] for row in query(port, "up")] == ["1"]
    except OSError:
        return False


def panels(board):
    return [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]


def case_prometheus(build):
    """Prometheus of Debian scrapes the collector, and answers the questions of the Grafana dashboard."""
    if not shutil.which("prometheus"):
        print("no prometheus (Debian package prometheus)")
        return SKIPPED
    with Place(build) as place:
        target = free_port()
        place.start("--metrics", f"127.0.0.1:{target}")
        with prometheus(place, target) as port:
            wait_for(lambda: up(port), "the first scrape")
            # In the next seconds the sample's figures must move.
            program = place.program(COUNT, 6000, WALLSHIM_BACKEND="events", WALLSHIM_EVENT_PLACEMENT="pairs", RANK="5")
            wait_for(lambda: query(port, 'rate(wallshim_device_busy_seconds_total{rank="5",job="test"}[4s]) > 0'), "a rate")
            ended_well(program, COUNT)
            wait_for(lambda: [row["value"][1] for row in query(port, "sum(wallshim_launches_total)")] == [str(COUNT)], "the launches")
            [row] = query(port, "wallshim_build_info")
            check(row["metric"]["version"], row)
            with open(f"{ROOT}/share/grafana/wallshim-collector.json", encoding="utf-8") as file:
                board = json.load(file)
            names = {row["metric"]["__name__"] for row in query(port, '{__name__=~"wallshim_.+|process_.+"}')}
            for expression in panels(board):
                known = expression.replace("$__rate_interval", "1m").replace("$job", ".*").replace("$rank", ".*")
                query(port, known)  # an error of syntax is status 400, which raises
                used = set(re.findall(r"\b(?:wallshim|process)_\w+", known))
                listed = set(re.findall(r"^# TYPE (\S+)", urllib.request.urlopen(f"http://127.0.0.1:{target}/metrics").read().decode(), re.M))
                check(used and used <= listed, f"{used - listed} is no metric")
            check("wallshim_launches_total" in names, names)
        place.stop()
    return 0


cases.main(globals())
