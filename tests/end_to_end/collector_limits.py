"""Tests what wallshim-collector does at its limits: slow clients, full disks, many jobs, quotas, its own death.

    collector_limits.py BUILD CASE|--list
"""
import ctypes
import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import time

import cases
from collector_runs import (DATA, GOODBYE, PATIENCE, TAKEN, WELCOME, Client, Place, check, ended_well, hello,
                            message, wait_for)

COUNT = 2000


def a_trace(place):
    """The bytes of a trace as a shim writes it. It goes to a file."""
    ended_well(place.program(COUNT, 20, WALLSHIM_COLLECTOR="", WALLSHIM_OUTPUT=f"{place.folder}/given.trace"), COUNT)
    with open(f"{place.folder}/given.trace", "rb") as file:
        return file.read()


def send_all(place, trace, goodbye=True, **who):
    """Sends a trace as a client of its own, and waits until it is taken."""
    with Client(place) as client:
        client.send(hello(**who))
        check(client.answer() == (WELCOME, 0), "it was not welcome")
        client.trace(trace)
        while client.answer() != (TAKEN, len(trace)):
            pass
        if goodbye:
            client.send(message(GOODBYE, len(trace)))
            while client.answer() is not None:
                pass


def memory_of(place, what="VmRSS"):
    with open(f"/proc/{place.collector.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(what))


def report_of(place):
    """The report of a trace that is cut, in one line."""
    done = subprocess.run([f"{place.build}/tools/wallshim", "report", "--full", place.job], capture_output=True, text=True,
                          check=False)
    return " ".join(done.stdout.split())


def ended(place, job=None):
    with open(f"{place.jobs}/{job or 'test'}/manifest.json", encoding="utf-8") as file:
        return {client["file"]: client["ended"] for client in json.load(file)["clients"]}


def case_close(build):
    """A client sends 200 messages, closes, and never reads an answer. The collector must have the whole trace."""
    with Place(build) as place:
        trace = a_trace(place)
        place.start()
        step = len(trace) // 200 + 1
        with Client(place) as client:
            client.send(hello())
            for at in range(0, len(trace), step):
                client.send(message(DATA, at, trace[at:at + step]))
        wait_for(lambda: place.traces() and os.path.getsize(place.traces()[0]) == len(trace), "the whole trace")
        wait_for(lambda: os.path.exists(f"{place.job}/manifest.json") and ended(place) == {"a.wst": "gone without goodbye"},
                 "its end")
        place.stop()


def case_half(build):
    """The collector ends a client that begins a frame (a block of rows) and does not complete it in time. Other clients
    stay."""
    with Place(build) as place:
        trace = a_trace(place)
        place.start("--patience", "1s")
        with Client(place) as half, Client(place) as idle, Client(place) as slow:
            for number, client in enumerate((half, idle, slow)):
                client.send(hello(stream=number))
                client.answer()
            idle.send(message(DATA, 0, trace[:64]))
            half.send(message(DATA, 0, trace[:100]))
            slow.send(message(DATA, 0, trace[:100]))
            for at in range(100, 103):  # a byte now and then is no progress either
                time.sleep(0.5)
                slow.send(message(DATA, at, trace[at:at + 1]))
            check(half.is_cut_off() and slow.is_cut_off(), "they may wait for ever")
            idle.trace(trace[64:], 64)
            while idle.answer() != (TAKEN, len(trace)):
                pass
        place.stop()
        check(sum("in time" in how for how in ended(place).values()) == 2, ended(place))


def case_memory(build):
    """Twelve clients with the largest frames cannot keep a program from the collector, and memory comes back."""
    large = 32 << 20
    with Place(build) as place:
        trace = a_trace(place)
        place.start()
        clients = [Client(place) for _ in range(12)]
        for number, client in enumerate(clients):
            client.send(hello(stream=number))
            client.answer()
            client.send(message(DATA, 0, trace[:64]))
            client.answer()
            header = largest_frame(trace, large)
            client.send(message(DATA, 64, header))
            at = 64 + len(header)
            for _ in range(480):
                if not client.send(message(DATA, at, bytes(65536))):
                    break
                at += 65536
        time.sleep(1.5)
        plain = not cases.sanitized(f"{build}/collector/wallshim-collector")  # a sanitizer's memory counts too
        check(memory_of(place, "VmHWM") > 100 << 10, "so little memory shows nothing")
        check(not plain or memory_of(place, "VmHWM") < 400 << 10, f"{memory_of(place, 'VmHWM')} kB")
        ended_well(place.program(COUNT, 20), COUNT)
        check(not place.left_in_folder(), "the program had to write a file")
        for client in clients:
            client.socket.close()
        wait_for(lambda: not plain or memory_of(place) < 60 << 10, "the memory to come back")
        place.stop()


def largest_frame(trace, size):
    """The header of the trace's first frame, with another size of its payload and the right checksum."""
    hash_of = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
    hash_of.restype = ctypes.c_uint64
    hash_of.argtypes = ctypes.c_char_p, ctypes.c_size_t
    header = bytearray(trace[64:136])
    header[28:32] = size.to_bytes(4, "little")
    header[64:72] = hash_of(bytes(header[:64]), 64).to_bytes(8, "little")
    return bytes(header)


def case_full(build):
    """A full disk: the collector waits. If the client has gone, the collector keeps the part of the trace that fitted, and
    ends the recording."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        print("no mount namespaces here")
        sys.exit(77)
    with Place(build) as place:
        trace = a_trace(place)
        os.mkdir(place.jobs)
        place.start(before=["unshare", "-rm", "sh", "-c",
                            f'mount -t tmpfs -o size=64k none {place.jobs} && mkdir {place.jobs}/test && exec "$@"', "sh"])
        inside = f"/proc/{place.collector.pid}/root{place.jobs}/test"
        numbers = range(1 + (200 << 10) // len(trace))
        for number in numbers:
            with Client(place) as client:
                client.send(hello(stream=number, file=b"%d.wst" % number))
                client.trace(trace)
                client.send(message(GOODBYE, len(trace)))
        wait_for(lambda: os.path.exists(f"{inside}/{numbers[-1]}.wst") or "No space" in place.words(), "a full disk")
        time.sleep(2.5)  # time for the collector's timer to find that the clients are gone
        check(place.collector.poll() is None, place.words())
        descriptors = len(os.listdir(f"/proc/{place.collector.pid}/fd"))
        check(descriptors < 25, f"{descriptors} descriptors are open still")
        for name in os.listdir(inside):
            if name.endswith(".wst"):
                with open(f"{inside}/{name}", "rb") as file:
                    check(trace.startswith(file.read()), f"{name} is no beginning of the trace")
        place.collector.terminate()
        place.collector.wait(timeout=PATIENCE)


def case_jobs(build):
    """More jobs than the collector keeps in memory. Ended jobs are freed from memory, but their manifests stay."""
    with Place(build) as place:
        trace = a_trace(place)
        place.start(job=None)
        for number in range(70):
            send_all(place, trace, stream=number, job=b"job%d" % number)
        # A new recording of a freed job is added to the job's manifest.
        send_all(place, trace, stream=1000, job=b"job0", file=b"b.wst")
        place.stop()
        check(len(os.listdir(place.jobs)) == 70, os.listdir(place.jobs))
        check(ended(place, "job0") == {"a.wst": "goodbye", "b.wst": "goodbye"}, ended(place, "job0"))
        check(ended(place, "job69") == {"a.wst": "goodbye"}, ended(place, "job69"))
        hint = subprocess.run([f"{place.build}/tools/wallshim", "report", place.jobs], capture_output=True, text=True,
                              check=False)
        check(hint.returncode == 2 and f"wallshim:   {place.jobs}/job" in hint.stderr, hint)


def case_bad(build):
    """A file that is no valid manifest is renamed. No trace is overwritten."""
    with Place(build) as place:
        trace = a_trace(place)
        os.makedirs(place.job)
        for name, text in (("manifest.json", "{"), ("a.wst", "precious")):
            with open(f"{place.job}/{name}", "w", encoding="ascii") as file:
                file.write(text)
        place.start()
        send_all(place, trace)
        place.stop()
        with open(f"{place.job}/a.wst", encoding="ascii") as file:
            check(file.read() == "precious", "a trace was overwritten")
        check(os.path.exists(f"{place.job}/manifest.json.bad") and ended(place) == {"a-1.wst": "goodbye"}, ended(place))


def case_foreign(build):
    """A file at the socket's path that is not the collector's stays there."""
    with Place(build) as place:
        os.mkdir(f"{place.folder}/run", 0o700)

        def refused(why):
            done = subprocess.run([f"{place.build}/collector/wallshim-collector", "--listen", place.socket, "--dir",
                                   place.jobs], capture_output=True, text=True, check=False, timeout=PATIENCE)
            check(done.returncode == 2 and why in done.stderr, done)
            check(os.path.exists(place.socket), "it was removed")

        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
            other.bind(place.socket)
            other.listen()
            refused("another program's socket is there")
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                probe.connect(place.socket)
        os.remove(place.socket)
        with open(place.socket, "w", encoding="ascii") as file:
            file.write("precious")
        refused("it is no socket")
        os.remove(place.socket)
        place.start()
        place.kill()
        place.start()  # a killed collector leaves its socket, which is replaced
        place.stop()


def case_sizes(build):
    """--max-size 0 is no limit, and refused bytes are counted once."""
    with Place(build) as place:
        trace = a_trace(place)
        place.start("--max-size", "0")
        send_all(place, trace)
        with Client(place) as client:
            client.send(hello(stream=2))
            client.answer()
            client.send(message(DATA, 0, trace[:64]))
            check(client.answer() == (TAKEN, 64), "the beginning was not taken")
            client.send(message(DATA, 64, bytes(1000)))
            check(client.is_cut_off(), "zeros were taken for a frame")
        place.stop()
        refused = [client["refused_bytes"] for client in place.manifest()["clients"]]
        check(refused == [0, 1000], refused)


def case_killed(build):
    """After kill -9 of the collector, no recording counts as still running: not in the report, and not after the
    collector's next start."""
    with Place(build) as place:
        trace = a_trace(place)
        place.start()
        with Client(place) as client:
            client.send(hello())
            client.answer()
            client.trace(trace[:len(trace) // 2])
            wait_for(lambda: os.path.exists(f"{place.job}/manifest.json"), "the manifest")
            check(ended(place) == {"a.wst": "still recording"}, ended(place))
            report = report_of(place)
            check("still records" in report, report)
            place.kill()
        report = report_of(place)
        check("the collector was killed" in report and "still records" not in report, report)
        place.start()
        wait_for(lambda: ended(place) == {"a.wst": "the collector ended first"}, "the job to be taken up")
        again = subprocess.run([f"{place.build}/collector/wallshim-collector", "--listen", f"{place.folder}/two/s", "--dir",
                                place.jobs, "--job", "test"], capture_output=True, text=True, check=False, timeout=PATIENCE)
        check(again.returncode == 2 and "another collector writes into this job" in again.stderr, again)
        place.stop()
        report = report_of(place)
        check("the collector ended first" in report, report)


def case_resume(build):
    """To continue a large file, the collector first reads it in steps. Meanwhile it serves other clients, and cuts
    nothing off the file too early."""
    with Place(build) as place:
        trace = a_trace(place)
        place.start()
        send_all(place, trace[:64], goodbye=False)
        place.stop()
        [path] = place.traces()
        with open(path, "ab") as file:
            file.write(trace[64:100])  # a frame of which the collector has seen only a part
        place.start()
        with Client(place) as client:
            client.send(hello())
            check(client.answer() == (WELCOME, 64), "it goes on behind the last whole frame")
            check(os.path.getsize(path) == 100, "the file was cut before the client has said where it goes on")
            client.trace(trace[64:], 64)
            while client.answer() != (TAKEN, len(trace)):
                pass
            client.send(message(GOODBYE, len(trace)))
        place.stop()
        with open(path, "rb") as file:
            check(file.read() == trace, "the trace is another")


def case_quota(build):
    """The quota removes the oldest ended recordings first. Recordings that have not ended stay."""
    with Place(build) as place:
        trace = a_trace(place)
        place.start(job=None)
        for number in range(4):
            send_all(place, trace, stream=number, job=b"a" if number < 3 else b"b", file=b"%d.wst" % number)
        place.stop()
        for number in range(4):
            os.utime(*glob.glob(f"{place.jobs}/*/{number}.wst"), (1e9 + number, 1e9 + number))
        with open(f"{place.jobs}/a/mine.wst", "wb") as file:
            file.write(trace)
        place.start("--max-job", str(2 * len(trace)), job=None)
        wait_for(lambda: "--max-job" in place.words(), "the quota")
        place.stop()
        check(sorted(ended(place, "a")) == ["1.wst", "2.wst"] and os.path.exists(f"{place.jobs}/a/mine.wst"), ended(place, "a"))
        check("removed a/0.wst" in place.words(), place.words())
        with open(f"{place.jobs}/a/manifest.json", encoding="utf-8") as file:
            manifest = json.load(file)
        check((manifest["removed_traces"], manifest["removed_bytes"]) == (1, len(trace)), manifest)
        place.start("--max-all", str(2 * len(trace) + 10), job=None)
        wait_for(lambda: "--max-all" in place.words(), "the quota")
        place.stop()
        check(sorted(ended(place, "a")) == ["2.wst"] and sorted(ended(place, "b")) == ["3.wst"], "the oldest goes")
        place.start("--max-age", "1h", job=None)
        with Client(place) as client:
            client.send(hello(stream=9, job=b"b", file=b"open.wst"))
            client.answer()
            client.trace(trace[:64])
            client.answer()
            os.utime(f"{place.jobs}/b/open.wst", (1e9, 1e9))
            wait_for(lambda: not os.path.exists(f"{place.jobs}/b/3.wst"), "the old ones to go")
            place.stop()
        check(ended(place, "a") == {} and os.listdir(f"{place.jobs}/b") != [], "all that had ended were old")


def case_ready(build):
    """The collector tells the service manager when the socket is ready, and when the collector ends."""
    for name in ("/notify", "@wallshim-test-%d" % os.getpid()):
        with Place(build) as place, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            address = place.folder + name if name[0] == "/" else name
            manager.bind(address.replace("@", "\0"))
            manager.settimeout(PATIENCE)
            place.start(NOTIFY_SOCKET=address)
            check(manager.recv(100) == b"READY=1", "it is ready")
            check(f"listening on unix:{place.socket}" in place.words(), place.words())
            place.stop()
            check(manager.recv(100) == b"STOPPING=1", "it ends")


def case_usage(build):
    """Wrong usage names the switch, the value and what is allowed."""
    rows = [(["--listen"], "'--listen' requires an argument"), ([], "--listen is missing"),
            (["--listen", "s/s"], "--dir is missing"), (["--listen", "unix:", "--dir", "d"], "--listen unix:: give unix:PATH"),
            (["--max-size", "big"], "--max-size big: give a size"), (["--max-age", "soon"], "--max-age soon: give a time"),
            (["--job", "a/b"], "--job a/b: give a name without a slash"), (["--jobs", "a"], "'--jobs'"),
            (["--listen", "s/s", "--dir", "d", "more"], "more: there is nothing to be given but switches")]
    with Place(build) as place:
        for words, why in rows:
            done = subprocess.run([f"{place.build}/collector/wallshim-collector", *words], capture_output=True, text=True,
                                  check=False, cwd=place.folder, timeout=PATIENCE)
            check(done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1, (words, done))
        check(os.listdir(place.folder) == [], os.listdir(place.folder))
        place.jobs = f"{place.folder}/one/two/three"
        place.start(job="ein Lauf für alle")
        place.stop()
        check(os.path.isdir(place.jobs), "--dir makes the folders above it")
        shutil.rmtree(f"{place.folder}/one")


cases.main(globals())
