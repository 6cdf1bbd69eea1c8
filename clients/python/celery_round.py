"""Sends tasks with celery to a worker of its own, and messages with kombu."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

from checks import ENDPOINT, KEY, PREFIX, SECRET, check, equal, finish

import boto3
from kombu import Connection

HERE = os.path.dirname(os.path.abspath(__file__))
QUEUE = PREFIX + "celery"
sqs = boto3.client("sqs", endpoint_url=ENDPOINT)


def broker():
    quote = lambda s: urllib.parse.quote(s, safe="")
    # kombu wants the credentials in the URL, and takes http for what has a port.
    return f"sqs://{quote(KEY)}:{quote(SECRET or 'any')}@{urllib.parse.urlsplit(ENDPOINT).netloc}"


OPTIONS = {
    "is_secure": False, "region": "us-east-1", "visibility_timeout": 30, "wait_time_seconds": 1, "polling_interval": 0.1,
    "queue_name_prefix": "",
}


def left(name):
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    a = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return int(a["ApproximateNumberOfMessages"]) + int(a["ApproximateNumberOfMessagesNotVisible"])


def eventually(what, true, seconds=30):
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            raise AssertionError(f"not {what} within {seconds} s")
        time.sleep(0.1)


@check
def kombu():
    """kombu sends, receives, rejects and acknowledges"""
    with Connection(broker(), transport_options=OPTIONS) as connection:
        queue = connection.SimpleQueue(PREFIX + "kombu")
        for i in range(5):
            queue.put({"number": i, "text": "ü<&>"})
        first = queue.get(timeout=10)
        first.reject(requeue=True)
        seen = []
        while len(seen) < 5:
            m = queue.get(timeout=10)
            equal(m.payload["text"], "ü<&>")
            seen.append(m.payload["number"])
            m.ack()
        equal(sorted(seen), [0, 1, 2, 3, 4])
        queue.close()
    eventually("empty", lambda: left(PREFIX + "kombu") == 0)


@check
def celery():
    """celery's worker runs tasks, retries one and leaves nothing"""
    from celery_app import add

    with tempfile.TemporaryDirectory() as results:
        environment = {**os.environ, "CELERY_BROKER": broker(), "CELERY_QUEUE": QUEUE, "CELERY_RESULTS": results}
        log = open(os.path.join(results, "log"), "w+")
        worker = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "celery_app", "worker", "--pool", "solo", "--loglevel", "warning",
             "--without-gossip", "--without-mingle", "--without-heartbeat"],
            cwd=HERE, env=environment, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )
        try:
            for i in range(10):
                add.delay(results, i)
            try:
                eventually("ten results", lambda: len([n for n in os.listdir(results) if n.startswith("done-")]) == 10, 45)
                eventually("empty", lambda: left(QUEUE) == 0)
            except AssertionError as error:
                log.seek(0)
                raise AssertionError(f"{error}; the worker said: {log.read()[-400:]}") from None
            with open(os.path.join(results, "done-3")) as f:
                equal(f.read(), "retries: 1")
        finally:
            worker.send_signal(signal.SIGTERM)
            try:
                worker.wait(20)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
            log.close()


@check
def delete():
    """queues are deleted"""
    urls = sqs.list_queues(QueueNamePrefix=PREFIX).get("QueueUrls", [])
    equal(len(urls) >= 2, True)
    for url in urls:
        sqs.delete_queue(QueueUrl=url)


finish()
