"""Makes the round with boto3, which checks the MD5 of bodies itself."""

import hashlib
import json
import struct
import threading
import time
import urllib.error
import urllib.request

from checks import BEZOAR, ENDPOINT, KEY, PREFIX, SECRET, check, equal, finish

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

DIFFICULT = "<ü&\"'> \t\r\n 漢字 𝒳 %20+=;"
ATTRIBUTES = {
    "text": {"DataType": "String", "StringValue": "<ü & so on>"},
    "number": {"DataType": "Number", "StringValue": "-12.5"},
    "number.int": {"DataType": "Number.int", "StringValue": "7"},
    "bytes": {"DataType": "Binary", "BinaryValue": b"\x00\x01\xff<"},
}


def client(key=KEY, secret=SECRET or "any"):
    return boto3.client(
        "sqs", endpoint_url=ENDPOINT, region_name="us-east-1", aws_access_key_id=key, aws_secret_access_key=secret,
        config=Config(retries={"total_max_attempts": 1}, read_timeout=30),
    )


sqs = client()
made = []


def queue(name, **attributes):
    url = sqs.create_queue(QueueName=PREFIX + name, Attributes=attributes)["QueueUrl"]
    made.append(url)
    return url


def attribute(url, name):
    return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name]).get("Attributes", {}).get(name)


def send(url, body, **more):
    return sqs.send_message(QueueUrl=url, MessageBody=body, **more)


def receive(url, wait=0):
    return sqs.receive_message(
        QueueUrl=url, WaitTimeSeconds=wait, MaxNumberOfMessages=10, AttributeNames=["All"], MessageAttributeNames=["All"],
    ).get("Messages", [])


def bodies(messages):
    return [m["Body"] for m in messages]


def drain(url, *want):
    """Receives until it has the bodies wanted, in any order."""
    got = []
    while len(got) < len(want):
        more = receive(url, 5)
        if not more:
            break
        got += more
    equal(sorted(bodies(got)), sorted(want))
    return got


def visible(url, message, seconds=0):
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=seconds)


def refused(code, call, **arguments):
    """Wants an error: of boto3's own type where it has one, else with the code."""
    own = getattr(sqs.exceptions, code, None) if code in dir(sqs.exceptions) else None
    try:
        call(**arguments)
    except ClientError as error:
        if own is not None and isinstance(error, own):
            return
        equal(error.response["Error"]["Code"].replace("AWS.SimpleQueueService.", ""), code)
        return
    raise AssertionError(f"no error, want {code}")


def digest(attributes):
    """What SQS says the MD5 of attributes is."""
    data = b""
    for name in sorted(attributes):
        a = attributes[name]
        binary = "BinaryValue" in a
        value = a["BinaryValue"] if binary else a["StringValue"].encode()
        for part in (name.encode(), a["DataType"].encode()):
            data += struct.pack(">I", len(part)) + part
        data += (b"\x02" if binary else b"\x01") + struct.pack(">I", len(value)) + value
    return hashlib.md5(data).hexdigest()


@check
def create():
    """queues are made once"""
    url = queue("create", VisibilityTimeout="45")
    equal(url.startswith(ENDPOINT + "/"), True)
    equal(sqs.create_queue(QueueName=PREFIX + "create", Attributes={"VisibilityTimeout": "45"})["QueueUrl"], url)
    equal(sqs.get_queue_url(QueueName=PREFIX + "create")["QueueUrl"], url)
    refused("QueueNameExists", sqs.create_queue, QueueName=PREFIX + "create", Attributes={"VisibilityTimeout": "46"})


@check
def missing():
    """a missing queue is an error of its own"""
    try:
        sqs.get_queue_url(QueueName=PREFIX + "nowhere")
    except sqs.exceptions.QueueDoesNotExist as error:
        equal(error.response["Error"]["Code"], "AWS.SimpleQueueService.NonExistentQueue")
    else:
        raise AssertionError("no error")


@check
def attributes():
    """attributes and tags are kept"""
    url = queue("attributes", DelaySeconds="3")
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "17"})
    got = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    equal([got["DelaySeconds"], got["VisibilityTimeout"]], ["3", "17"])
    refused("InvalidAttributeName", sqs.set_queue_attributes, QueueUrl=url, Attributes={"Nonsense": "1"})
    sqs.tag_queue(QueueUrl=url, Tags={"a": "1", "b": "ü"})
    sqs.untag_queue(QueueUrl=url, TagKeys=["a"])
    equal(sqs.list_queue_tags(QueueUrl=url)["Tags"], {"b": "ü"})
    sqs.add_permission(QueueUrl=url, Label="l", AWSAccountIds=["123456789012"], Actions=["SendMessage"])
    sqs.remove_permission(QueueUrl=url, Label="l")


@check
def lists():
    """lists have prefixes and pages"""
    want = [queue(f"list-{i}") for i in range(3)]
    pages = sqs.get_paginator("list_queues").paginate(QueueNamePrefix=PREFIX + "list-", PaginationConfig={"PageSize": 2})
    equal([url for page in pages for url in page.get("QueueUrls", [])], want)


@check
def message():
    """messages keep body, attributes and digests"""
    url = queue("message")
    sent = send(url, DIFFICULT, MessageAttributes=ATTRIBUTES)
    equal(sent["MD5OfMessageAttributes"], digest(ATTRIBUTES))
    (got,) = drain(url, DIFFICULT)
    equal(got["MessageAttributes"], ATTRIBUTES)
    equal(got["MD5OfMessageAttributes"], digest(ATTRIBUTES))
    equal(got["MessageId"], sent["MessageId"])
    equal(got["Attributes"]["ApproximateReceiveCount"], "1")
    equal("MD5OfMessageAttributes" in send(url, "plain"), False)


@check
def choose():
    """receives choose attributes"""
    url = queue("choose", VisibilityTimeout="0")
    send(url, "x", MessageAttributes=ATTRIBUTES)
    for ask, want in ([], []), (["text", "absent"], ["text"]), (["num.*"], ["number", "number.int"]), ([".*"], sorted(ATTRIBUTES)):
        (m,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=ask, WaitTimeSeconds=5)["Messages"]
        equal(sorted(m.get("MessageAttributes", {})), want)
        equal(m.get("MD5OfMessageAttributes"), digest({n: ATTRIBUTES[n] for n in want}) if want else None)


@check
def batch():
    """batches are sent, changed and deleted"""
    url = queue("batch")
    ten = list("0123456789")
    sent = sqs.send_message_batch(QueueUrl=url, Entries=[{"Id": "e" + b, "MessageBody": b} for b in ten])
    equal(len(sent["Successful"]), 10)
    got = drain(url, *ten)[1:]

    def entries(**more):
        good = [{"Id": str(i), "ReceiptHandle": m["ReceiptHandle"], **more} for i, m in enumerate(got)]
        return good + [{"Id": "x", "ReceiptHandle": "garbage", **more}]

    for answer in (
        sqs.change_message_visibility_batch(QueueUrl=url, Entries=entries(VisibilityTimeout=0)),
        sqs.delete_message_batch(QueueUrl=url, Entries=entries()),
    ):
        equal((len(answer["Successful"]), [f["Code"] for f in answer["Failed"]]), (9, ["ReceiptHandleIsInvalid"]))
    refused("EmptyBatchRequest", sqs.send_message_batch, QueueUrl=url, Entries=[])
    refused("BatchEntryIdsNotDistinct", sqs.send_message_batch, QueueUrl=url,
            Entries=[{"Id": "a", "MessageBody": "x"}, {"Id": "a", "MessageBody": "y"}])


@check
def visibility():
    """visibility is changed, messages are deleted"""
    url = queue("visibility")
    send(url, "x")
    (first,) = drain(url, "x")
    equal(receive(url), [])
    visible(url, first)
    (again,) = drain(url, "x")
    equal(again["Attributes"]["ApproximateReceiveCount"], "2")
    sqs.delete_message(QueueUrl=url, ReceiptHandle=again["ReceiptHandle"])
    equal(receive(url), [])
    refused("ReceiptHandleIsInvalid", sqs.delete_message, QueueUrl=url, ReceiptHandle="garbage")


@check
def long_poll():
    """a long poll is woken by a send"""
    url = queue("long-poll")
    threading.Timer(0.7, send, (url, "x")).start()
    began = time.monotonic()
    equal(bodies(receive(url, 20)), ["x"])
    equal(time.monotonic() - began < 10, True)


@check
def fifo():
    """FIFO keeps order, locks groups and drops duplicates"""
    url = queue("order.fifo", FifoQueue="true", ContentBasedDeduplication="true")
    ids = [send(url, body, MessageGroupId=group)["MessageId"] for group, body in (("A", "a1"), ("A", "a2"), ("A", "a1"))]
    equal(ids[2], ids[0])
    (first,) = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=5, AttributeNames=["All"])["Messages"]
    equal([first["Body"], first["Attributes"]["MessageGroupId"]], ["a1", "A"])
    send(url, "b1", MessageGroupId="B")  # of two groups that are free, either may come first
    equal(bodies(receive(url, 5)), ["b1"])
    sqs.delete_message(QueueUrl=url, ReceiptHandle=first["ReceiptHandle"])
    equal(bodies(receive(url, 5)), ["a2"])
    refused("MissingParameter", sqs.send_message, QueueUrl=url, MessageBody="x")


@check
def dead_letters():
    """dead letters go where the policy says"""
    dead = queue("dead")
    arn = attribute(dead, "QueueArn")
    url = queue("letters", RedrivePolicy=json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1}))
    send(url, "x")
    visible(url, drain(url, "x")[0])
    equal(receive(url), [])
    (letter,) = drain(dead, "x")
    equal(letter["Attributes"]["DeadLetterQueueSourceArn"], attribute(url, "QueueArn"))
    equal(sqs.list_dead_letter_source_queues(QueueUrl=dead)["queueUrls"], [url])
    if not hasattr(sqs, "start_message_move_task"):
        return  # botocore knows it since 1.29.148
    visible(dead, letter)
    sqs.start_message_move_task(SourceArn=arn)
    drain(url, "x")


@check
def purge():
    """a purge empties"""
    url = queue("purge")
    send(url, "x")
    sqs.purge_queue(QueueUrl=url)
    equal(receive(url), [])
    refused("PurgeQueueInProgress", sqs.purge_queue, QueueUrl=url)


@check
def resource():
    """the resource interface works"""
    made_by = boto3.resource("sqs", endpoint_url=ENDPOINT)
    url = queue("resource")
    q = made_by.get_queue_by_name(QueueName=PREFIX + "resource")
    equal(q.url, url)
    q.send_message(MessageBody="x", MessageAttributes={"text": ATTRIBUTES["text"]})
    (m,) = q.receive_messages(WaitTimeSeconds=5, MessageAttributeNames=["All"])
    equal([m.body, m.message_attributes["text"]["StringValue"]], ["x", "<ü & so on>"])
    m.change_visibility(VisibilityTimeout=60)
    m.delete()
    q.load()
    equal(q.attributes["ApproximateNumberOfMessagesNotVisible"], "0")


def ask(url):
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@check
def presigned():
    """a presigned request is taken"""
    url = queue("presigned")
    signed = sqs.generate_presigned_url("send_message", Params={"QueueUrl": url, "MessageBody": DIFFICULT}, ExpiresIn=60, HttpMethod="GET")
    status, text = ask(signed)
    equal((status, "<MD5OfMessageBody>" in text), (200, True))
    drain(url, DIFFICULT)
    if SECRET:
        status, text = ask(signed.replace("Action=SendMessage", "Action=PurgeQueue"))
        equal((status, "SignatureDoesNotMatch" in text), (403, True))


if BEZOAR:

    @check
    def bezoar():
        """Bezoar's attributes pass through"""
        equal(attribute(queue("bezoar", BezoarRetryBase="2s"), "BezoarRetryBase"), "2s")


if SECRET:

    @check
    def keys():
        """a wrong secret and an unknown key are refused"""
        refused("SignatureDoesNotMatch", client(secret=SECRET + "x").list_queues)
        refused("InvalidClientTokenId", client(key="NOBODY").list_queues)


@check
def delete():
    """queues are deleted"""
    for url in made:
        sqs.delete_queue(QueueUrl=url)
    refused("QueueDoesNotExist", sqs.get_queue_url, QueueName=PREFIX + "create")


finish()
