"""Makes the round with the aws command: each step is a process of its own."""

import json
import os
import subprocess
import time

from checks import BEZOAR, ENDPOINT, PREFIX, SECRET, check, equal, finish

AWS = "/usr/bin/aws" if os.path.exists("/usr/bin/aws") else "aws"
INTERPRETER = "/usr/bin/python3"


def forks():
    """Returns what forks aws commands, or None where aws is not a program of INTERPRETER.

    Loading awscli takes most of a command's time.
    """
    try:
        with open(AWS, "rb") as program:
            if program.readline().strip() != b"#!" + INTERPRETER.encode():
                return None
    except OSError:
        return None
    return subprocess.Popen(
        [INTERPRETER, os.path.join(os.path.dirname(os.path.abspath(__file__)), "awscli_fork.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


FORKS = forks()


def run(*arguments, **environment):
    arguments = ["--endpoint-url", ENDPOINT, "--output", "json", "--no-cli-pager", "sqs", *arguments]
    if not FORKS:
        done = subprocess.run([AWS, *arguments], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, env={**os.environ, **environment})
        return done.returncode, done.stdout, done.stderr
    print(json.dumps({"arguments": arguments, "environment": environment}), file=FORKS.stdin, flush=True)
    answer = json.loads(FORKS.stdout.readline())
    return answer["code"], answer["out"], answer["err"]


def aws(*arguments, **environment):
    code, out, err = run(*arguments, **environment)
    if code != 0:
        raise AssertionError(f"aws sqs {arguments[0]}: {err.strip()}")
    return json.loads(out) if out.strip() else {}


def refused(code, *arguments, **environment):
    ended, _, err = run(*arguments, **environment)
    equal((ended, f"({code})" in err or err.strip()), (254, True))


def queue(name, **attributes):
    return aws("create-queue", "--queue-name", PREFIX + name, *(["--attributes", json.dumps(attributes)] if attributes else []))["QueueUrl"]


def receive(url, *more):
    return aws("receive-message", "--queue-url", url, "--max-number-of-messages", "10", *more).get("Messages", [])


made = []


@check
def message():
    """messages keep body and attributes"""
    url = queue("message", VisibilityTimeout="45")
    made.append(url)
    equal(aws("get-queue-url", "--queue-name", PREFIX + "message")["QueueUrl"], url)
    attributes = {"text": {"DataType": "String", "StringValue": "<ü>"}, "number": {"DataType": "Number", "StringValue": "7"}}
    aws("send-message", "--queue-url", url, "--message-body", "<ü & \n 漢字>", "--message-attributes", json.dumps(attributes))
    (got,) = receive(url, "--wait-time-seconds", "5", "--attribute-names", "All", "--message-attribute-names", "All")
    equal((got["Body"], got["MessageAttributes"], got["Attributes"]["ApproximateReceiveCount"]), ("<ü & \n 漢字>", attributes, "1"))
    aws("change-message-visibility", "--queue-url", url, "--receipt-handle", got["ReceiptHandle"], "--visibility-timeout", "0")
    (again,) = receive(url, "--wait-time-seconds", "5")
    aws("delete-message", "--queue-url", url, "--receipt-handle", again["ReceiptHandle"])
    equal(receive(url), [])
    refused("ReceiptHandleIsInvalid", "delete-message", "--queue-url", url, "--receipt-handle", "garbage")


@check
def attributes():
    """attributes, tags and lists"""
    url = made[0]
    aws("set-queue-attributes", "--queue-url", url, "--attributes", "DelaySeconds=1")
    got = aws("get-queue-attributes", "--queue-url", url, "--attribute-names", "All")["Attributes"]
    equal([got["DelaySeconds"], got["VisibilityTimeout"]], ["1", "45"])
    aws("tag-queue", "--queue-url", url, "--tags", "a=1,b=2")
    equal(aws("list-queue-tags", "--queue-url", url)["Tags"], {"a": "1", "b": "2"})
    equal(aws("list-queues", "--queue-name-prefix", PREFIX + "mess")["QueueUrls"], [url])


@check
def batch():
    """batches are sent and deleted"""
    url = queue("batch")
    made.append(url)
    entries = [{"Id": b, "MessageBody": b} for b in "abc"]
    equal(len(aws("send-message-batch", "--queue-url", url, "--entries", json.dumps(entries))["Successful"]), 3)
    got = []
    while len(got) < 3:
        more = receive(url, "--wait-time-seconds", "5")
        equal(bool(more), True)
        got += more
    entries = [{"Id": m["Body"], "ReceiptHandle": m["ReceiptHandle"]} for m in got]
    change = [{**e, "VisibilityTimeout": 60} for e in entries]
    equal(len(aws("change-message-visibility-batch", "--queue-url", url, "--entries", json.dumps(change))["Successful"]), 3)
    equal(len(aws("delete-message-batch", "--queue-url", url, "--entries", json.dumps(entries))["Successful"]), 3)


@check
def long_poll():
    """a long poll is woken by a send of another process"""
    url = queue("long-poll")
    made.append(url)
    began = time.monotonic()
    poll = subprocess.Popen(
        [AWS, "--endpoint-url", ENDPOINT, "--no-cli-pager", "sqs", "receive-message", "--queue-url", url, "--wait-time-seconds", "20"],
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    aws("send-message", "--queue-url", url, "--message-body", "x")
    out, _ = poll.communicate(timeout=60)
    equal((json.loads(out)["Messages"][0]["Body"], time.monotonic() - began < 18), ("x", True))


@check
def fifo():
    """FIFO keeps order"""
    url = queue("order.fifo", FifoQueue="true", ContentBasedDeduplication="true")
    made.append(url)
    for body in "1", "2", "1":
        aws("send-message", "--queue-url", url, "--message-body", body, "--message-group-id", "g")
    equal([m["Body"] for m in receive(url, "--wait-time-seconds", "5")], ["1", "2"])
    refused("MissingParameter", "send-message", "--queue-url", url, "--message-body", "x")


@check
def dead_letters():
    """dead letters go where the policy says"""
    dead = queue("dead")
    arn = aws("get-queue-attributes", "--queue-url", dead, "--attribute-names", "QueueArn")["Attributes"]["QueueArn"]
    url = queue("letters", RedrivePolicy=json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1}))
    made.extend([dead, url])
    aws("send-message", "--queue-url", url, "--message-body", "x")
    (m,) = receive(url, "--wait-time-seconds", "5", "--visibility-timeout", "0")
    equal(receive(url), [])
    (letter,) = receive(dead, "--wait-time-seconds", "5")
    equal(letter["MessageId"], m["MessageId"])
    equal(aws("list-dead-letter-source-queues", "--queue-url", dead)["queueUrls"], [url])


@check
def purge():
    """a purge empties"""
    aws("send-message", "--queue-url", made[1], "--message-body", "x")
    aws("purge-queue", "--queue-url", made[1])
    equal(receive(made[1]), [])


if BEZOAR:

    @check
    def bezoar():
        """Bezoar's attributes pass through"""
        aws("set-queue-attributes", "--queue-url", made[0], "--attributes", "BezoarRetryBase=2s")
        got = aws("get-queue-attributes", "--queue-url", made[0], "--attribute-names", "All")["Attributes"]
        equal(got["BezoarRetryBase"], "2s")


if SECRET:

    @check
    def keys():
        """a wrong secret and an unknown key are refused"""
        refused("SignatureDoesNotMatch", "list-queues", AWS_SECRET_ACCESS_KEY=SECRET + "x")
        refused("InvalidClientTokenId", "list-queues", AWS_ACCESS_KEY_ID="NOBODY")


@check
def delete():
    """queues are deleted"""
    for url in made:
        aws("delete-queue", "--queue-url", url)
    refused("AWS.SimpleQueueService.NonExistentQueue", "get-queue-url", "--queue-name", PREFIX + "message")


finish()
