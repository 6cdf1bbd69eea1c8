"""Runs aws commands, each in a process of its own that begins with awscli loaded.

Run by the interpreter that aws itself has. One order a line on stdin, {"arguments": [],
"environment": {}}; one answer a line on stdout, {"code": 0, "out": "", "err": ""}.
"""

import json
import os
import signal
import sys
import tempfile

import awscli.clidriver
import botocore.httpsession  # noqa: F401  loaded by each command otherwise


def child(order, out, err):
    os.environ.update(order["environment"])
    with open(os.devnull) as nothing:
        for here, there in ((0, nothing), (1, out), (2, err)):
            os.dup2(there.fileno(), here)
    sys.stdin = open(0)
    sys.argv = ["aws", *order["arguments"]]
    signal.alarm(60)
    try:
        code = awscli.clidriver.main()
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


for line in sys.stdin:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if pid == 0:
            child(json.loads(line), out, err)
        _, status = os.waitpid(pid, 0)
        answer = {"code": os.waitstatus_to_exitcode(status)}
        for name, file in (("out", out), ("err", err)):
            file.seek(0)
            answer[name] = file.read().decode()
        print(json.dumps(answer), flush=True)
