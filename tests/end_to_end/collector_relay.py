"""Tests the relay: traces that one wallshim-collector sends on to another, over TCP with TLS.

    collector_relay.py BUILD CASE|--list
"""
import contextlib
import os
import random
import select
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

import cases
from collector_pairs import (a_trace, all_there, authority, certificate, content, COUNT, free_port, openssl, pair,
                             relay_to, Remote, tls, traces)
from collector_runs import (check, Client, DATA, ended_well, GOODBYE, hello, MAGIC, message, PATIENCE, Place, TAKEN,
                            wait_for, WELCOME)


def case_one(build):
    """A trace is the same at both ends, byte by byte: the part that has arrived while the program runs, and the whole
    trace afterwards."""
    with pair(build) as (place, remote):
        remote.start(*tls(place.folder, "there"))
        place.start(*relay_to(place, remote.port))
        program = place.program(3000, 1000)
        grew = set()

        def grows():
            there = traces(f"{remote.jobs}/test")
            for name, data in there.items():
                check(content(f"{place.job}/{name}").startswith(data), "it is no beginning of the trace")
                grew.add(len(data))
            return len(grew) > 2 or program.poll() is not None
        wait_for(grows, "the trace to grow")
        check(len(grew) > 2, f"nothing came while it recorded: {grew}")
        ended_well(program, 3000)
        all_there(place, remote)
        [client] = remote.clients()
        [here] = place.manifest()["clients"]
        check(client["relayed_by"] == "CN=here" and "uid" not in client, client)
        for key in ("pid", "host", "rank", "start_time", "boot_id", "stream", "bytes", "frames", "ended"):
            check(client[key] == here[key], f"{key}: {client[key]}, {here[key]}")
        wait_for(lambda: place.manifest()["clients"][0].get("relayed"), "the manifest to say so")
        place.stop()
        remote.stop()
        check(place.wallshim("report", place.job) and place.wallshim("report", f"{remote.jobs}/test"), "reports")


class Proxy:
    """Passes connections on, and cuts each at a random byte, until it has cut enough."""

    def __init__(self, target, cuts, most):
        self.target, self.cuts, self.most, self.done = target, cuts, most, 0
        self.chance = random.Random(14)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            here, _ = self.socket.accept()
            try:
                there = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                here.close()
                continue
            left = self.chance.randrange(self.most) if self.done < self.cuts else None
            self.done += left is not None
            threading.Thread(target=self.carry, args=(here, there, left), daemon=True).start()

    def carry(self, here, there, left):
        other = {here: there, there: here}
        with here, there, contextlib.suppress(OSError):
            while left is None or left > 0:
                for ready in select.select(list(other), [], [])[0]:
                    data = ready.recv(65536 if left is None else min(left, 65536))
                    if not data:
                        return
                    other[ready].sendall(data)
                    left = None if left is None else left - len(data)
                    if left == 0:
                        break
            if self.chance.random() < 0.5:  # half of the cuts are resets, the others end in order
                for one in other:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def case_cut(build):
    """A connection is cut 50 times at random bytes. The trace is the same at both ends, and nothing came twice."""
    with pair(build) as (place, remote):
        remote.start(*tls(place.folder, "there"))
        proxy = Proxy(remote.port, 50, 60000)
        place.start(*relay_to(place, proxy.port))
        programs = [place.program(1000000, 3000, WALLSHIM_OUTPUT=f"{number}.wst") for number in range(2)]
        for program in programs:
            ended_well(program, 1000000)
        wait_for(lambda: proxy.done >= 50, "50 cuts")
        all_there(place, remote)
        clients = remote.clients()
        check(len(clients) == 2 and not any(client["refused_bytes"] for client in clients), clients)
        check("is refused" not in place.words(), place.words())
        place.stop()
        remote.stop()


def case_killed(build):
    """Either collector is killed and started again, many times: the traces are the same."""
    with pair(build) as (place, remote):
        there, here = tls(place.folder, "there"), relay_to(place, remote.port)
        remote.start(*there)
        place.start(*here)
        program = place.program(30000, 9000)
        chance = random.Random(15)
        for turn in range(8):
            time.sleep(chance.random())
            if turn % 2:
                place.kill()
                place.start(*here)
            else:
                remote.kill()
                remote.start(*there)
        ended_well(program, 30000)
        all_there(place, remote)
        [path] = place.traces()
        check(place.counts(path)[0] >= 30000 and place.counts(path)[2] == 0, place.counts(path))
        place.stop()
        place.start(*here)  # a trace that has been relayed is not sent again
        time.sleep(1)
        check(len(remote.clients()) == 1, remote.clients())
        place.stop()
        remote.stop()


def case_salvage(build):
    """Programs are killed. The local collector may add records to the end of their traces, or replace it; the other
    collector gets the same."""
    with pair(build) as (place, remote):
        remote.start(*tls(place.folder, "there"))
        place.start(*relay_to(place, remote.port))
        chance = random.Random(17)
        programs = [place.program(4000000, 900, WALLSHIM_OUTPUT=f"{number}.wst") for number in range(6)]
        for number, program in enumerate(programs):
            pid = pid_of(place, number)
            time.sleep(chance.random() * 0.3)
            os.kill(pid, signal.SIGKILL)
            program.communicate(timeout=PATIENCE)
        all_there(place, remote)
        check(all("saved" in how for how in remote.ended().values()), remote.ended())
        place.stop()
        remote.stop()


def pid_of(place, number):
    def found():
        with contextlib.suppress(FileNotFoundError):
            return [client["pid"] for client in place.manifest()["clients"] if client["file"] == f"{number}.wst"]
        return []
    wait_for(found, "its line in the manifest")
    return found()[0]


def case_jobs(build):
    """There are more jobs than a collector keeps in memory, all from before the relay started. All are relayed, and the
    quota is kept."""
    with pair(build) as (place, remote):
        trace = a_trace(place)
        place.start(job=None)
        for number in range(70):
            with Client(place) as client:
                client.send(hello(stream=number, job=b"job%d" % number))
                client.answer()
                client.trace(trace)
                client.send(message(GOODBYE, len(trace)))
                while client.answer() is not None:
                    pass
        place.stop()
        remote.start(*tls(place.folder, "there"))
        place.start(*relay_to(place, remote.port), job=None)
        names = [f"job{number}" for number in range(70)]
        wait_for(lambda: all(remote.ended(name) == {"a.wst": "goodbye"} for name in names), "70 jobs")
        for name in names:
            check(traces(f"{remote.jobs}/{name}") == {"a.wst": trace}, name)
        place.stop()
        remote.stop()


def case_stopped(build):
    """The other collector is stopped. Programs and the local collector do not wait, and memory does not grow."""
    with pair(build) as (place, remote):
        remote.start(*tls(place.folder, "there"))
        place.start(*relay_to(place, remote.port), "--max-job", "20M")
        ended_well(place.program(COUNT, 20, WALLSHIM_OUTPUT="first.wst"), COUNT)
        all_there(place, remote)
        before = memory_of(place)
        programs = [place.program(2000000, 1500, WALLSHIM_OUTPUT=f"{number}.wst") for number in range(3)]
        wait_for(lambda: len(traces(f"{remote.jobs}/test")) == 4, "their beginnings")
        remote.collector.send_signal(signal.SIGSTOP)
        for program in programs:
            ended_well(program, 2000000)
        check(not place.left_in_folder(), "a trace did not go to the collector")
        trace = content(f"{place.job}/0.wst")
        for number in range(10, 22):  # more traces than the quota allows
            with Client(place) as client:
                client.send(hello(stream=number, file=b"%d.wst" % number))
                client.trace(trace)
                client.send(message(GOODBYE, len(trace)))
                while client.answer() is not None:
                    pass
        grown = memory_of(place) - before
        check(cases.sanitized(f"{build}/collector/wallshim-collector") or grown < 30 << 10, f"{grown} kB more")
        wait_for(lambda: "removed test/11.wst" in place.words(), "the quota")
        remote.collector.send_signal(signal.SIGCONT)
        wait_for(lambda: all(client.get("relayed") for client in place.manifest()["clients"]), "what the quota left")
        there = traces(f"{remote.jobs}/test")
        for name, data in traces(place.job).items():
            check(there[name] == data, name)
        for name, data in there.items():
            check(name in ("first.wst", "1.wst", "2.wst") or trace.startswith(data), f"{name} is no beginning of the trace")
        place.stop()
        remote.stop()


def memory_of(place):
    with open(f"/proc/{place.collector.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


class Peer(Client):
    """A client that the test implements itself, over TCP."""

    def __init__(self, port, context=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        if context:
            try:
                self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
            except BaseException:
                self.socket.close()
                raise

    def send(self, data):
        try:
            self.socket.sendall(data)
            return True
        except OSError:
            return False

    def whole(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                return None
            data += more
        return data

    def answer(self):
        try:
            data = self.whole(24)
        except OSError:
            return None
        return (struct.unpack_from("<H", data, 6)[0], struct.unpack_from("<Q", data, 16)[0]) if data else None

    def gets_nothing(self):
        self.send(hello())
        with contextlib.suppress(OSError):
            data = self.socket.recv(65536)
            while data:
                check(struct.pack("<I", MAGIC) not in data, f"it answered {data!r}")
                data = self.socket.recv(65536)


def context_of(place, name=None, by="ca"):
    context = ssl.create_default_context(cafile=f"{place.folder}/{by}.pem")
    if name:
        context.load_cert_chain(f"{place.folder}/{name}.pem", f"{place.folder}/{name}.key")
    return context


def stranger(port, context):
    """Opens a TLS connection that the collector must refuse. With TLS 1.3 the refusal comes after the handshake."""
    with contextlib.suppress(OSError), Peer(port, context) as peer:
        peer.gets_nothing()


def case_strangers(build):
    """Clients without a valid certificate get nothing, and do not keep others from being served."""
    with pair(build) as (place, remote), Remote(place) as plain:
        authority(place.folder, "other")
        certificate(place.folder, "stranger", by="other")
        certificate(place.folder, "expired", days=-1)
        certificate(place.folder, "elsewhere", alternative="DNS:elsewhere.example,IP:127.0.0.2")
        remote.start(*tls(place.folder, "there"))
        old = context_of(place)
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        for context in (context_of(place), old, context_of(place, "stranger"), context_of(place, "expired")):
            stranger(remote.port, context)
        chance = random.Random(16)
        for number in range(40):
            with Peer(remote.port) as peer:
                peer.send(message(DATA, 0, b"x") if number % 2 else chance.randbytes(chance.randrange(1, 3000)))
                peer.gets_nothing()
        check(remote.clients() == [] and not os.listdir(remote.jobs), "a stranger got in")
        check("no certificate" in remote.words() or "peer did not return a certificate" in remote.words(), remote.words())
        # 200 clients begin a handshake and never end it. A valid client is served meanwhile.
        hold = [Peer(remote.port) for _ in range(200)]
        for peer in hold[::2]:
            peer.send(bytes.fromhex("160301020001"))
        place.start(*relay_to(place, remote.port))
        ended_well(place.program(COUNT, 20), COUNT)
        all_there(place, remote)
        for peer in hold:
            check(peer.answer() is None, "it may wait for ever")
            peer.socket.close()
        place.stop()
        # A client with a valid certificate is accepted, by TLS 1.2 too, but may send only traces.
        new = context_of(place, "here")
        new.maximum_version = ssl.TLSVersion.TLSv1_2
        for context in (new, context_of(place, "here")):
            with Peer(remote.port, context) as peer:
                peer.send(message(34, 0))  # the message ASK, which requests the status
                check(peer.is_cut_off(), "it may command")
        # The relay talks only to those with the right name, authority and date, and not to a port without TLS.
        remote.stop()
        for name, by, why in (("elsewhere", "ca", "ostname mismatch"), ("expired", "ca", "expired"),
                              ("stranger", "other", "certificate"), (None, None, "handshake")):
            before = len(place.words())
            plain.port, plain.jobs, plain.said = free_port(), f"{place.folder}/never", f"{place.folder}/{name}.err"
            plain.start(*(tls(place.folder, name, by) if name else []))
            place.start(*relay_to(place, plain.port))
            ended_well(place.program(COUNT, 20), COUNT)
            wait_for(lambda: "trying again" in place.words()[before:], "what is said")
            words = place.words()[before:]
            check(name is None or why in words, words)
            time.sleep(0.5)
            check(not os.listdir(plain.jobs), "a trace went to a stranger")
            place.stop()
            plain.stop()


def case_names(build):
    """Another collector cannot write outside the folder, and cannot continue a trace that it did not send."""
    with pair(build) as (place, remote):
        trace = a_trace(place)
        remote.start("--listen", f"unix:{place.socket}", *tls(place.folder, "there"))
        certificate(place.folder, "second")
        boot = content("/proc/sys/kernel/random/boot_id").strip()
        start = int(content("/proc/self/stat").rsplit(b")", 1)[1].split()[19])
        who = {"stream": 7, "start": start, "boot": boot, "job": b"test", "file": b"same.wst"}
        with Client(place) as local:
            local.send(hello(**who))
            check(local.answer() == (WELCOME, 0), "the program here is welcome")
            local.trace(trace)
            while local.answer() != (TAKEN, len(trace)):
                pass
            for name in ("here", "second"):
                with Peer(remote.port, context_of(place, name)) as peer:
                    peer.send(hello(**who))
                    check(peer.answer() == (WELCOME, 0), "it goes on in the trace of another")
                    peer.trace(trace)
                    while peer.answer() != (TAKEN, len(trace)):
                        pass
                    peer.send(message(GOODBYE, len(trace), b"killed \x1b[31m"))
                    check(peer.answer()[0] == GOODBYE, "it is all there")
        names = [b"../../evil.wst", b"/etc/evil.wst", b"..", b".hidden", b"", b"x" * 255, b"\xff\n.wst", b"manifest.json"]
        for number, name in enumerate(names):
            with Peer(remote.port, context_of(place, "here")) as peer:
                peer.send(hello(file=name, job=b"../" + name, stream=number + 100, pid=77))
                check(peer.answer() == (WELCOME, 0), f"{name} was refused")
                peer.trace(trace)
                while peer.answer() != (TAKEN, len(trace)):
                    pass
        for wrong in ({"pid": 0}, {"pid": 0xffffffff}, {"boot": b"../x"}, {"start": 1 << 63}):
            with Peer(remote.port, context_of(place, "here")) as peer:
                peer.send(hello(**wrong))
                check(peer.is_cut_off(), wrong)
        remote.stop()
        check(sorted(traces(f"{remote.jobs}/test")) == ["same-1.wst", "same-2.wst", "same.wst"], os.listdir(remote.jobs))
        check({"same-1.wst": "killed ?[31m", "same-2.wst": "killed ?[31m"}.items() <= remote.ended().items(), remote.ended())
        found = [os.path.relpath(os.path.join(folder, name), place.folder)
                 for folder, _, files in os.walk(place.folder) for name in files if name.endswith(".wst") or "evil" in name]
        check(all(name.startswith("remote/") for name in found) and len(found) == 3 + len(names), found)


def case_plain(build):
    """Without TLS the loopback works, and nothing else is allowed."""
    with Place(build) as place, Remote(place) as remote:
        for words, why in ((["--listen", "0.0.0.0:9"], "--listen 0.0.0.0:9: other machines can reach this address"),
                           (["--listen", "[::]:9"], "--listen [::]:9: other machines"),
                           (["--listen", "10.1.2.3:9"], "--listen 10.1.2.3:9: other machines"),
                           (["--listen", "unix:s/s", "--relay", "10.1.2.3:9"], "--relay 10.1.2.3:9: other machines"),
                           (["--listen", "unix:s/s", "--relay", "example.org:9"], "--relay example.org:9: other machines")):
            refused(place, words, why)
        remote.start()
        place.start("--relay", f"localhost:{remote.port}")
        ended_well(place.program(COUNT, 20), COUNT)
        all_there(place, remote)
        check(remote.clients()[0]["relayed_by"] == "loopback, no certificate", remote.clients())
        with contextlib.suppress(OSError):  # TLS to a port without TLS fails
            ssl.create_default_context().wrap_socket(socket.create_connection(("127.0.0.1", remote.port), timeout=PATIENCE),
                                                     server_hostname="localhost")
            raise AssertionError("there is TLS")
        place.stop()
        remote.stop()


def refused(place, words, why):
    done = subprocess.run([f"{place.build}/collector/wallshim-collector", "--dir", "d", *words], capture_output=True,
                          text=True, check=False, cwd=place.folder, timeout=PATIENCE)
    check(done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1, (words, done))


def case_switches(build):
    """If a file is missing or wrong, one line names the switch, the file and the reason."""
    with Place(build) as place:
        authority(place.folder, "ca")
        certificate(place.folder, "one")
        certificate(place.folder, "two")
        openssl(place.folder, "ec", "-in", "one.key", "-aes128", "-passout", "pass:secret", "-out", "locked.key")
        with open(f"{place.folder}/empty.pem", "w", encoding="ascii"):
            pass
        files = {"cert": "one.pem", "key": "one.key", "ca": "ca.pem"}
        rows = [({"cert": "none.pem"}, "--tls-cert none.pem: No such file"),
                ({"key": "none.key"}, "--tls-key none.key: No such file"),
                ({"ca": "none.pem"}, "--tls-ca none.pem: No such file"),
                ({"key": "two.key"}, "--tls-key two.key: key values mismatch"),
                ({"key": "locked.key"}, "--tls-key locked.key: "), ({"cert": "empty.pem"}, "--tls-cert empty.pem: "),
                ({"ca": "empty.pem"}, "--tls-ca empty.pem: "), ({"cert": "."}, "--tls-cert .: "),
                ({"ca": None}, "--tls-ca is missing"), ({"cert": None}, "--tls-cert is missing"),
                ({"key": None}, "--tls-key is missing")]
        for wrong, why in rows:
            words = [word for name, file in {**files, **wrong}.items() if file for word in (f"--tls-{name}", file)]
            refused(place, ["--listen", f"127.0.0.1:{free_port()}", *words], why)
        right = [word for name, file in files.items() for word in (f"--tls-{name}", file)]
        refused(place, ["--listen", "unix:s/s", *right], "neither is given")
        refused(place, ["--listen", "unix:s/s", "--relay", "nowhere", *right], "--relay nowhere: give HOST:PORT")
        refused(place, ["--listen", "unix:s/s", "--relay", "localhost:9", "--flight", "30s"], "--flight")
        refused(place, ["--listen", "unix:s/s", "--relay", "localhost:9", "--job", "x" * 64], "at most 63 bytes")
        refused(place, ["--listen", "host.example:9", *right], "--listen host.example:9: give unix:PATH, or HOST:PORT")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            refused(place, ["--listen", f"127.0.0.1:{taken.getsockname()[1]}", *right], "Address already in use")


def case_hosts(build):
    """Two machines: network namespaces with a cable between them, which is pulled for a while, RELAY_CUTS times. Every
    second time the connections are reset as well, where the kernel can do that."""
    cuts, chance = int(os.environ.get("RELAY_CUTS", "2")), random.Random(50)
    names = [f"ws{os.getpid()}{end}" for end in "ab"]

    def ip(*words, check_it=True):
        return subprocess.run(["ip", *words], capture_output=True, text=True, check=check_it)
    first = ip("netns", "add", names[0], check_it=False)
    if first.returncode:
        print(f"no network namespaces here: {first.stderr.strip()}")
        sys.exit(77)
    try:
        ip("netns", "add", names[1])
        ip("link", "add", names[0], "netns", names[0], "type", "veth", "peer", "name", names[1], "netns", names[1])
        for number, name in enumerate(names):
            ip("-n", name, "addr", "add", f"10.94.7.{number + 1}/24", "dev", name)
            ip("-n", name, "link", "set", name, "up")
        with Place(build) as place, Remote(place, "10.94.7.2", ["ip", "netns", "exec", names[1]]) as remote:
            authority(place.folder, "ca")
            certificate(place.folder, "here")
            certificate(place.folder, "there", alternative="IP:10.94.7.2")
            remote.start(*tls(place.folder, "there"))
            place.start(*relay_to(place, remote.port, host="10.94.7.2"), before=["ip", "netns", "exec", names[0]])
            program = place.program(20000, 4000 + 2000 * cuts)
            wait_for(lambda: traces(f"{remote.jobs}/test"), "the beginning")
            reset = 0
            for number in range(cuts):
                ip("-n", names[0], "link", "set", names[0], "down")
                time.sleep(0.2 + 1.3 * chance.random())
                if number % 2:
                    reset += not subprocess.run(["ip", "netns", "exec", names[0], "ss", "-K", "dst", "10.94.7.2"],
                                                capture_output=True, check=False).returncode
                ip("-n", names[0], "link", "set", names[0], "up")
                time.sleep(0.2 + 0.8 * chance.random())
            output, errors = program.communicate(timeout=PATIENCE + 4 * cuts)
            check(not program.returncode and output == "launched 20000\n", errors)
            all_there(place, remote)
            [path] = place.traces()
            check(place.counts(path)[0] == 20000 and place.counts(path)[2] == 0, place.counts(path))
            print(f"{cuts} times pulled, {reset} of them with a reset; {os.path.getsize(path)} bytes, the same on both sides")
            place.stop()
            remote.stop()
    finally:
        for name in names:
            ip("netns", "del", name, check_it=False)


cases.main(globals())
