"""A worker for a queue: python3 worker.py http://127.0.0.1:9324 QUEUE [SECONDS]

It ends when there was nothing to do for SECONDS. ../README.md says more.
"""
import ctypes
import http.client
import json
import os
import signal
import sys
import time
import traceback
from urllib.parse import urlsplit


def handle(job):
    if job.get("crash"):
        ctypes.string_at(0)  # a null pointer: SIGSEGV, as in a faulty C extension
    print(job["text"].upper(), flush=True)


class Queue:
    def __init__(self, endpoint, name):
        self.connection = http.client.HTTPConnection(urlsplit(endpoint).netloc, timeout=30)
        self.url = self.call("GetQueueUrl", QueueName=name)["QueueUrl"]

    def call(self, action, **members):
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action}
        self.connection.request("POST", "/", json.dumps(members), headers)
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            sys.exit(f"{action}: {answer.status} {body.decode()}")
        return json.loads(body or "{}")


def outcome(e):
    """What to report: the class, what failed where in this file, and why."""
    own = [f for f in traceback.extract_tb(e.__traceback__) if f.filename == __file__][-1]
    kind = "invalid" if isinstance(e, json.JSONDecodeError) else "bug"
    where = f"{type(e).__name__}@{os.path.basename(__file__)}:{own.lineno}"
    return {"class": kind, "failure": where, "reason": f"{type(e).__name__}: {e}"}


def work(queue, patience):
    busy = time.monotonic()
    while not stopping and time.monotonic() - busy < patience:
        got = queue.call("ReceiveMessage", QueueUrl=queue.url, WaitTimeSeconds=min(5, patience))
        for m in got.get("Messages", []):
            busy, receipt = time.monotonic(), {"QueueUrl": queue.url, "ReceiptHandle": m["ReceiptHandle"]}
            try:
                handle(json.loads(m["Body"]))
            except Exception as e:
                queue.call("ChangeMessageVisibility", BezoarOutcome=outcome(e), **receipt)
            else:
                queue.call("DeleteMessage", **receipt)


stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))  # what was received is finished
work(Queue(*sys.argv[1:3]), int(sys.argv[3]) if len(sys.argv) > 3 else 10**9)
