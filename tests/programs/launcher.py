"""A launcher, like torchrun: launcher.py BUILD WORDS… starts a child for each word, in most cases the server of server.c:

    plain        the server without the shim; a thread of the launcher other than its first thread starts it
    asleep       the server with the shim preloaded, but not recording (WALLSHIM_START=off)
    grandchild   a child that starts one server without the shim
    grandchildren  a child that starts two servers without the shim
    sandboxed    no server: a child that cannot be attached to (attachable.c)
    idle         no server: a child without CUDA

For each server, the launcher prints the word and the server's process id; without a server, the child's. Then it prints
"ready". For each line of its input it starts another plain server. At the end of its input it ends all children, and prints
how the servers have ended."""
import os
import signal
import subprocess
import sys
import threading

BUILD = sys.argv[1]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SERVER = [f"{BUILD}/tests/programs/server", "1", f"{BUILD}/tests/programs/libraries/libprobe.so"]
MIDDLE = """
import subprocess, sys
children = [subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, text=True) for _ in range(int(sys.argv[1]))]
for child in children:
    child.stdout.readline()
print("ready", *(child.pid for child in children), flush=True)
for child in children:
    print(child.stdout.read().strip(), child.wait(), sep="; ", flush=True)
"""


def preloaded(*switches):
    return [f"{ROOT}/tests/run_preloaded.sh", *switches, BUILD]


COMMANDS = {
    "plain": [*preloaded("--no-shim"), *SERVER],
    "asleep": [*preloaded(), *SERVER],
    "grandchild": [*preloaded("--no-shim"), "python3", "-c", MIDDLE, "1", *SERVER],
    "grandchildren": [*preloaded("--no-shim"), "python3", "-c", MIDDLE, "2", *SERVER],
    "sandboxed": [*preloaded("--no-shim"), f"{BUILD}/tests/programs/attachable", "seccomp"],
    "idle": ["sh", "-c", "echo ready; read word"],
}


def start(name):
    child = subprocess.Popen(COMMANDS[name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "WALLSHIM_START": "off"})
    word, *below = child.stdout.readline().split()
    assert word == "ready", word
    for pid in below or [child.pid]:
        print(name, pid, flush=True)
    return name, child, [int(pid) for pid in below or [child.pid]]


started = []
end = threading.Event()


def in_thread(name):
    """Starts a child in this thread. Linux regards the thread that has started a child as the child's parent."""
    started.append(start(name))
    end.wait()


for word in sys.argv[2:]:
    before = len(started)
    if word == "plain":
        threading.Thread(target=in_thread, args=[word], daemon=True).start()
        while len(started) == before:
            pass
    else:
        started.append(start(word))
print("ready", flush=True)
for line in sys.stdin:
    started.append(start("plain"))
for name, child, pids in started:
    if name in ("sandboxed", "idle"):
        child.kill()
        continue
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    print(child.communicate()[0].strip().replace("\n", "; "), child.returncode, sep="; ", flush=True)
