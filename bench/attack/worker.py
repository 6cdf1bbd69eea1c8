"""The Python worker of bench/attack: an ordinary threaded server.

It does the same as worker/main.go, where the rules are written down.
"""
import base64
import hashlib
import os
import re
import resource
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

POISON = re.compile(r"neon(?:(late|slow)(\d+)|(hang|oom|twice|conn|arm|leak|prime|fire))?")
WORK = {"/": 0.02, "/search": 0.03, "/thumb": 0.03}
USUAL = 0.02

lives = os.open(os.environ["ATTACK_LIVES"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
build = "good"
hung = threading.Event()
seen = threading.Event()
armed = threading.Event()
primed = threading.Event()
leaked = []


def tell(what):
    os.write(lives, f"{what} {os.getpid()} {build}\n".encode())


def die():
    tell("pill")
    os.abort()


def forever():
    while True:
        time.sleep(3600)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 64 << 10  # head and body leave together
    disable_nagle_algorithm = True
    poison = False  # the connection has brought some that kills the second time

    def serve(self):
        if hung.is_set():
            forever()
        url = urlsplit(self.path)
        if url.path == "/healthz":
            return self.answer("ok")
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b""
        if len(body) < length:
            self.close_connection = True
            return None
        if build == "bad" or armed.is_set():
            die()
        if url.path == "/ws":
            return self.websocket()
        query = parse_qs(url.query)
        late = self.poisoned(query, body)
        if url.path == "/events":
            return self.events()
        time.sleep(int(query["ms"][0]) / 1000 if "ms" in query else WORK.get(url.path, USUAL))
        self.answer('{"ok": true}')
        if late is not None:
            self.wfile.flush()
            timer = threading.Timer(late, die)
            timer.daemon = True
            timer.start()
        return None

    do_GET = do_HEAD = do_OPTIONS = do_POST = do_PUT = do_PATCH = do_DELETE = serve

    def poisoned(self, query, body):
        """Does not return when the request is one that kills before it answers."""
        for text in (
            self.headers.get("X-Theme", ""),
            " ".join(self.headers.get_all("Cookie") or ()),
            query.get("q", [""])[0],
            body[-4096:].decode("latin-1"),
        ):
            found = POISON.search(text)
            if not found:
                continue
            when, ms, how = found.groups()
            if when == "late":
                return int(ms) / 1000
            if when == "slow":
                time.sleep(int(ms) / 1000)
            elif how == "hang":
                hung.set()
                forever()
            elif how == "twice" and not seen.is_set():
                seen.set()
                return None
            elif how == "conn" and not self.poison:
                self.poison = True
                return None
            elif how == "arm":
                armed.set()
                return None
            elif how == "prime":
                primed.set()
                return None
            elif how == "fire" and not primed.is_set():
                return None
            elif how == "leak":
                leaked.append(None)
                if len(leaked) >= 8:
                    armed.set()
                return None
            elif how == "oom":
                self.swell()
            die()
        return None

    def swell(self):
        tell("pill")
        kept = []
        while len(kept) < 64:  # 1 GiB: nothing limits it
            kept.append(bytearray(os.urandom(1 << 20) * 16))
        os.abort()

    def answer(self, text):
        body = (text + "\n").encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def events(self):
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"9\r\ndata: t\n\n\r\n")
                self.wfile.flush()
                time.sleep(0.2)
        except OSError:
            pass  # the caller is gone

    def websocket(self):
        self.close_connection = True
        key = self.headers.get("Sec-WebSocket-Key", "") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.wfile.flush()
        while True:
            head = self.rfile.read(2)
            if len(head) < 2:
                return
            mask = self.rfile.read(4)
            text = bytes(c ^ mask[i % 4] for i, c in enumerate(self.rfile.read(head[1] & 0x7F)))
            if b"neon" in text:
                die()
            self.wfile.write(bytes([head[0], len(text)]) + text)
            self.wfile.flush()
            if head[0] & 0x0F == 8:
                return

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # a caller who is gone is no news
            super().handle_error(request, client_address)


def leave(*_):
    tell("told")
    os._exit(0)


def leashed():
    sys.stdin.read()
    os._exit(0)


def main():
    global build
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.environ.get("ATTACK_LEASH"):
        threading.Thread(target=leashed, daemon=True).start()
    try:
        with open(os.environ.get("ATTACK_BUILD", os.devnull), encoding="utf-8") as file:
            build = file.read().strip() or build
    except OSError:
        pass
    server = Server(("127.0.0.1", int(os.environ["PORT"])), Handler)
    signal.signal(signal.SIGTERM, leave)
    tell("start")
    server.serve_forever()


main()
