import os, signal, subprocess, sys, time
wallshim, whom = sys.argv[1:]
count = """import signal, time
got = []
signal.signal(signal.SIGINT, lambda *_: got.append(1))
print("ready", flush=True)
end = time.monotonic() + 1
while time.monotonic() < end:
    time.sleep(0.05)
print(len(got))"""
for _ in range(3):
    run = subprocess.Popen([wallshim, "record", "-o", "count-%p.wst", sys.executable, "-c", count], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    run.stdout.readline()
    (os.killpg if whom == "group" else os.kill)(run.pid, signal.SIGINT)
    if run.stdout.readline() != "1\n" or run.wait() != 0:
        sys.exit(1)
