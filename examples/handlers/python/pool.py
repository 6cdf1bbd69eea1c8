"""Works on one message after another, for `bezoar work --mode pool -- python3 pool.py`."""

import base64
import json
import os
import signal
import sys
import time
import traceback

answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # from now on no print of any code is an answer


def work(body):
    """Returns what is worth saying of a message. What it raises is a bug of ours."""
    try:
        job = json.loads(body)
    except ValueError as error:
        return {"class": "invalid", "reason": f"no JSON: {error}"}
    if "busy" in job:
        return {"class": "throttled", "retry_after": job["busy"], "downstream": "shop"}
    if job.get("crash"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if job.get("hang"):
        time.sleep(3600)
    print(job["text"].upper())
    return {}


for line in sys.stdin.buffer:
    message, answer = json.loads(line), {"bezoar": 1}
    if "id" in message:  # else it is the hello, and answered by ours
        answer["id"] = message["id"]
        try:
            answer |= work(message["body"] if "body" in message else base64.b64decode(message["body_base64"]))
        except Exception as error:
            traceback.print_exc()
            answer |= {"class": "bug", "reason": repr(error)[:1000]}
    answers.write(json.dumps(answer) + "\n")
