"""Works on one message, for `bezoar work -- python3 process.py`."""

import json
import os
import signal
import sys
import time


def report(**more):
    """Says more than an exit code can."""
    with open(3, "w") as out:
        json.dump(more, out)


def work(body):
    try:
        job = json.loads(body)
    except ValueError as error:
        report(reason=f"no JSON: {error}")
        sys.exit(65)  # never: a dead letter at once
    if "busy" in job:
        report(**{"class": "throttled", "retry_after": job["busy"], "downstream": "shop"})
        sys.exit(75)  # later
    if job.get("crash"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if job.get("hang"):
        time.sleep(3600)
    print(job["text"].upper())  # a value that is not text raises an exception: a bug, with this place as its fingerprint


work(sys.stdin.buffer.read())
