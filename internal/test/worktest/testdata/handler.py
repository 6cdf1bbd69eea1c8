"""Does what a message says, however bad. Bodies are "KIND NUMBER ...": see kinds in
poison_test.go. With the argument "pool" it takes one message after another."""

import os
import sys
import time


def note(m, what):
    # One write, so that the lines of many processes stay whole.
    fd = os.open(os.environ["DIARY"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, f"{what} {m['id']} {m['receives']} {os.getpid()} {m['body'].split()[0]}\n".encode())
    os.close(fd)


def deep(n):
    return deep(n + 1) + 1


def escape(m):
    """Leaves a grandchild in a session of its own, without an environment, that holds our output open."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork() == 0:
        os.execve("/bin/sh", ["sh", "-c", f"sleep 600; : {m['id']}/{m['receives']}"], {})
    os._exit(0)


def bomb():
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(0.1)


def handle(m):
    """Returns the class of the end, for ends that a handler can choose."""
    kind = m["body"].split()[0]
    if kind == "segv":
        import ctypes  # here and below: most messages do without, and start sooner

        ctypes.string_at(0)
    elif kind == "abort":
        os.abort()
    elif kind == "oom":
        hoard = []
        while True:
            hoard.append(b"x" * (1 << 20))
    elif kind == "loop":
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(600)
    elif kind == "bomb":
        bomb()
    elif kind == "escape":
        escape(m)
    elif kind == "invalid":
        return "invalid"
    elif kind == "later":
        return "done" if m["receives"] > 3 else "transient"
    elif kind == "overflow":
        deep(0)
    elif kind == "flood":
        line = b"x" * ((1 << 20) - 1) + b"\n"
        for _ in range(50):
            sys.stderr.buffer.write(line)
        raise RuntimeError("flooded")
    elif kind != "good":
        sys.exit(f"no kind {kind}")
    return "done"


def one():
    m = {"id": os.environ["BEZOAR_MESSAGE_ID"], "receives": int(os.environ["BEZOAR_RECEIVE_COUNT"]), "body": sys.stdin.read()}
    note(m, "begin")
    code = {"done": 0, "invalid": 65, "transient": 75}[handle(m)]
    note(m, "end")
    sys.exit(code)


def pool():
    import json

    for line in sys.stdin:
        m = json.loads(line)
        if "id" not in m:
            print('{"bezoar":1}', flush=True)
            continue
        note(m, "begin")
        answer = {"bezoar": 1, "id": m["id"], "class": handle(m)}
        note(m, "end")
        print(json.dumps(answer), flush=True)


pool() if sys.argv[1:] == ["pool"] else one()
