"""A server that answers with what reached it: ../../docs/gateway.md shows settings by it.

It listens on $PORT, on an address (--listen ADDRESS), on a unix socket (--unix PATH), or
with TLS, where it asks for the caller's certificate (--tls ADDRESS CERT KEY CA).
"""
import os
import ssl
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import ThreadingUnixStreamServer
from urllib.parse import urlsplit


class Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open
    server_version = "Echo/1.0"

    def do_GET(self):
        kind = urlsplit(self.path).path.rsplit("/", 1)[-1]
        if kind == "events":
            self.stream(1, 3600)  # one event, then nothing
        elif kind == "ticks":
            self.stream(3600, 0.2)
        elif kind == "wait":
            time.sleep(3)
            self.answer("waited\n")
        elif kind == "pid":
            self.answer(f"worker {os.getpid()}\n")
        else:
            self.answer(self.told())

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        self.answer(self.told() + f"{len(self.rfile.read(length))} bytes\n")

    def told(self):
        """The request line, and the headers that a proxy changes."""
        text = f"{self.command} {self.path}\n"
        for name, value in sorted(self.headers.items()):
            if name.lower() in ("cookie", "x-env", "x-forwarded-prefix", "x-forwarded-proto"):
                text += f"{name}: {value}\n"
        if isinstance(self.connection, ssl.SSLSocket):
            names = dict(pair[0] for pair in self.connection.getpeercert()["subject"])
            text += f"from {names['commonName']}\n"
        return text

    def stream(self, events, pause):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            for number in range(events):
                self.wfile.write(f"data: {number}\n\n".encode())
                time.sleep(pause)
        except OSError:
            pass  # nobody reads it any more

    def answer(self, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True


class UnixServer(ThreadingUnixStreamServer):
    daemon_threads = True


if __name__ == "__main__":
    if sys.argv[1:2] == ["--unix"]:
        server = UnixServer(sys.argv[2], Echo)
    elif sys.argv[1:2] == ["--tls"]:
        address, cert, key, ca = sys.argv[2:]
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=ca)
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(cert, key)
        server = Server(("127.0.0.1", int(address.rsplit(":", 1)[1])), Echo)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    else:
        port = sys.argv[2].rsplit(":", 1)[1] if sys.argv[1:2] == ["--listen"] else os.environ["PORT"]
        server = Server(("127.0.0.1", int(port)), Echo)
    server.serve_forever()
