"""An ordinary server that some requests kill: /crash and /hang.

../README.md shows how to run it behind Bezoar.
"""
import ctypes
import os
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

CATALOGUE = ["bezoar stone", "bloodstone", "moonstone", "amber", "jet"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path == "/healthz":
            self.answer("ok")
        elif url.path == "/search":
            q = parse_qs(url.query).get("q", [""])[0]
            self.answer("\n".join(item for item in CATALOGUE if q in item))
        elif url.path == "/slow":
            time.sleep(0.5)
            self.answer("done")
        elif url.path == "/crash":
            ctypes.string_at(0)  # a null pointer: SIGSEGV, as in a faulty C extension
        elif url.path == "/hang":
            re.match(r"(a+)+$", "a" * 64 + "b")  # backtracks for ages, with the interpreter locked
        else:
            self.answer("not found", 404)

    do_HEAD = do_GET

    def answer(self, text, status=200):
        body = (text + "\n").encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *args):
        pass  # one line per request is too much here


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


if __name__ == "__main__":
    Server(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
