// Makes the round with the AWS SDK for JavaScript:
//
//	node round.mjs @aws-sdk/client-sqs     JSON
//	node round.mjs client-sqs-query        an older one, which speaks Query
//
// The SDK checks the MD5 of bodies itself, sent and received.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { bezoar, check, config, endpoint, finish, key, prefix, refused, secret } from "./checks.mjs";

const sdk = await import(process.argv[2] ?? "@aws-sdk/client-sqs");
const client = new sdk.SQSClient(config());
const call = (operation, input, c = client) => c.send(new sdk[`${operation}Command`](input));
const made = [];

async function queue(name, Attributes) {
  const { QueueUrl } = await call("CreateQueue", { QueueName: prefix + name, Attributes });
  made.push(QueueUrl);
  return QueueUrl;
}

async function attribute(QueueUrl, name) {
  return (await call("GetQueueAttributes", { QueueUrl, AttributeNames: [name] })).Attributes?.[name];
}

const send = (QueueUrl, MessageBody, more) => call("SendMessage", { QueueUrl, MessageBody, ...more });

async function receive(QueueUrl, WaitTimeSeconds = 0) {
  const { Messages } = await call("ReceiveMessage", {
    QueueUrl,
    WaitTimeSeconds,
    MaxNumberOfMessages: 10,
    AttributeNames: ["All"],
    MessageAttributeNames: ["All"],
  });
  return Messages ?? [];
}

// drain receives until it has the bodies wanted, in any order.
async function drain(QueueUrl, ...want) {
  const all = [];
  while (all.length < want.length) {
    const got = await receive(QueueUrl, 5);
    if (got.length === 0) break;
    all.push(...got);
  }
  assert.deepEqual(all.map((m) => m.Body).sort(), want.sort());
  return all;
}

async function none(QueueUrl) {
  assert.deepEqual((await receive(QueueUrl)).map((m) => m.Body), []);
}

// Everything that encodings stumble over.
const difficult = "<ü&\"'> \t\r\n 漢字 𝒳 %20+=;";

const attributes = {
  text: { DataType: "String", StringValue: "<ü & so on>" },
  number: { DataType: "Number", StringValue: "-12.5" },
  "number.int": { DataType: "Number.int", StringValue: "7" },
  bytes: { DataType: "Binary", BinaryValue: Uint8Array.of(0, 1, 0xff, 60) },
};

// digest is what SQS says the MD5 of attributes is.
function digest(of) {
  const hash = createHash("md5");
  const put = (data) => {
    const bytes = Buffer.from(data);
    const size = Buffer.alloc(4);
    size.writeUInt32BE(bytes.length);
    hash.update(size).update(bytes);
  };
  for (const name of Object.keys(of).sort()) {
    const a = of[name];
    put(name);
    put(a.DataType);
    hash.update(Buffer.of(a.BinaryValue ? 2 : 1));
    put(a.BinaryValue ?? a.StringValue);
  }
  return hash.digest("hex");
}

await check("queues are made once", async () => {
  const url = await queue("create", { VisibilityTimeout: "45" });
  assert.ok(url.startsWith(`${endpoint}/`), url);
  assert.equal((await call("CreateQueue", { QueueName: `${prefix}create`, Attributes: { VisibilityTimeout: "45" } })).QueueUrl, url);
  assert.equal((await call("GetQueueUrl", { QueueName: `${prefix}create` })).QueueUrl, url);
  await refused(call("CreateQueue", { QueueName: `${prefix}create`, Attributes: { VisibilityTimeout: "46" } }), "QueueNameExists", "QueueAlreadyExists");
});

await check("a missing queue is an error of its own", async () => {
  const error = await refused(call("GetQueueUrl", { QueueName: `${prefix}nowhere` }), "QueueDoesNotExist");
  assert.ok(error instanceof sdk.QueueDoesNotExist);
});

await check("attributes and tags are kept", async () => {
  const url = await queue("attributes", { DelaySeconds: "3" });
  await call("SetQueueAttributes", { QueueUrl: url, Attributes: { VisibilityTimeout: "17" } });
  const { Attributes } = await call("GetQueueAttributes", { QueueUrl: url, AttributeNames: ["All"] });
  assert.deepEqual([Attributes.DelaySeconds, Attributes.VisibilityTimeout], ["3", "17"]);
  await refused(call("SetQueueAttributes", { QueueUrl: url, Attributes: { Nonsense: "1" } }), "InvalidAttributeName");
  await call("TagQueue", { QueueUrl: url, Tags: { a: "1", b: "ü" } });
  await call("UntagQueue", { QueueUrl: url, TagKeys: ["a"] });
  assert.deepEqual((await call("ListQueueTags", { QueueUrl: url })).Tags, { b: "ü" });
});

await check("lists have prefixes and pages", async () => {
  for (const name of ["list-1", "list-2", "list-3"]) await queue(name);
  const names = [];
  for await (const page of sdk.paginateListQueues({ client, pageSize: 2 }, { QueueNamePrefix: `${prefix}list-` })) {
    names.push(...page.QueueUrls.map((url) => url.split("/").pop()));
  }
  assert.deepEqual(names, ["list-1", "list-2", "list-3"].map((name) => prefix + name));
});

await check("messages keep body, attributes and digests", async () => {
  const url = await queue("message");
  const sent = await send(url, difficult, { MessageAttributes: attributes });
  assert.equal(sent.MD5OfMessageAttributes, digest(attributes));
  const [got] = await drain(url, difficult);
  assert.equal(got.MessageId, sent.MessageId);
  assert.equal(got.MD5OfMessageAttributes, digest(attributes));
  assert.equal(got.Attributes.ApproximateReceiveCount, "1");
  for (const [name, a] of Object.entries(attributes)) {
    const is = got.MessageAttributes[name];
    assert.deepEqual([is.DataType, is.StringValue, is.BinaryValue && [...is.BinaryValue]], [a.DataType, a.StringValue, a.BinaryValue && [...a.BinaryValue]]);
  }
});

await check("batches are sent, changed and deleted", async () => {
  const url = await queue("batch");
  const bodies = [..."0123456789"];
  const sent = await call("SendMessageBatch", { QueueUrl: url, Entries: bodies.map((b) => ({ Id: `e${b}`, MessageBody: b })) });
  assert.equal(sent.Successful.length, 10);
  const all = await drain(url, ...bodies);
  const entries = (more) => [...all.map((m, i) => ({ Id: `${i}`, ReceiptHandle: m.ReceiptHandle, ...more })), { Id: "x", ReceiptHandle: "garbage", ...more }].slice(1);
  const changed = await call("ChangeMessageVisibilityBatch", { QueueUrl: url, Entries: entries({ VisibilityTimeout: 600 }) });
  assert.deepEqual([changed.Successful.length, changed.Failed.map((f) => f.Code)], [9, ["ReceiptHandleIsInvalid"]]);
  const gone = await call("DeleteMessageBatch", { QueueUrl: url, Entries: entries() });
  assert.deepEqual([gone.Successful.length, gone.Failed.map((f) => f.Code)], [9, ["ReceiptHandleIsInvalid"]]);
  await refused(call("SendMessageBatch", { QueueUrl: url, Entries: [{ Id: "a", MessageBody: "x" }, { Id: "a", MessageBody: "y" }] }), "BatchEntryIdsNotDistinct");
});

await check("visibility is changed, messages are deleted", async () => {
  const url = await queue("visibility");
  await send(url, "x");
  const [first] = await drain(url, "x");
  await none(url);
  await call("ChangeMessageVisibility", { QueueUrl: url, ReceiptHandle: first.ReceiptHandle, VisibilityTimeout: 0 });
  const [again] = await drain(url, "x");
  assert.equal(again.Attributes.ApproximateReceiveCount, "2");
  await call("DeleteMessage", { QueueUrl: url, ReceiptHandle: again.ReceiptHandle });
  await none(url);
  const error = await refused(call("DeleteMessage", { QueueUrl: url, ReceiptHandle: "garbage" }), "ReceiptHandleIsInvalid");
  assert.ok(error instanceof sdk.ReceiptHandleIsInvalid);
});

await check("a long poll is woken by a send", async () => {
  const url = await queue("long-poll");
  const began = Date.now();
  const polled = receive(url, 20);
  await new Promise((resolve) => setTimeout(resolve, 700));
  await send(url, "x");
  assert.deepEqual((await polled).map((m) => m.Body), ["x"]);
  assert.ok(Date.now() - began < 10_000, "the send did not wake it");
});

await check("FIFO keeps order, locks groups and drops duplicates", async () => {
  const url = await queue("order.fifo", { FifoQueue: "true", ContentBasedDeduplication: "true" });
  const ids = [];
  for (const [group, body] of [["A", "a1"], ["A", "a2"], ["A", "a1"]]) {
    ids.push((await send(url, body, { MessageGroupId: group })).MessageId);
  }
  assert.equal(ids[2], ids[0]);
  const one = await call("ReceiveMessage", { QueueUrl: url, WaitTimeSeconds: 5, AttributeNames: ["All"] });
  assert.deepEqual([one.Messages[0].Body, one.Messages[0].Attributes.MessageGroupId], ["a1", "A"]);
  await send(url, "b1", { MessageGroupId: "B" }); // of two groups that are free, either may come first
  assert.deepEqual((await receive(url, 5)).map((m) => m.Body), ["b1"]);
  await call("DeleteMessage", { QueueUrl: url, ReceiptHandle: one.Messages[0].ReceiptHandle });
  assert.deepEqual((await receive(url, 5)).map((m) => m.Body), ["a2"]);
  await refused(send(url, "x"), "MissingParameter");
});

await check("dead letters go away and come back", async () => {
  const dead = await queue("dead");
  const arn = await attribute(dead, "QueueArn");
  const url = await queue("letters", { RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arn, maxReceiveCount: 1 }) });
  await send(url, "x");
  const [m] = await drain(url, "x");
  await call("ChangeMessageVisibility", { QueueUrl: url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 0 });
  await none(url);
  const [letter] = await drain(dead, "x");
  assert.deepEqual((await call("ListDeadLetterSourceQueues", { QueueUrl: dead })).queueUrls, [url]);
  await call("ChangeMessageVisibility", { QueueUrl: dead, ReceiptHandle: letter.ReceiptHandle, VisibilityTimeout: 0 });
  const { TaskHandle } = await call("StartMessageMoveTask", { SourceArn: arn });
  assert.ok(TaskHandle);
  await drain(url, "x");
  for (const until = Date.now() + 20_000; ; ) {
    const { Results } = await call("ListMessageMoveTasks", { SourceArn: arn });
    if (Results[0].Status === "COMPLETED") break;
    assert.ok(Date.now() < until, `the task is ${Results[0].Status} after 20 s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
});

await check("a purge empties", async () => {
  const url = await queue("purge");
  await send(url, "x");
  await call("PurgeQueue", { QueueUrl: url });
  await none(url);
  await refused(call("PurgeQueue", { QueueUrl: url }), "PurgeQueueInProgress");
});

if (bezoar) {
  await check("Bezoar's attributes pass through", async () => {
    const url = await queue("bezoar", { BezoarRetryBase: "2s" });
    assert.equal(await attribute(url, "BezoarRetryBase"), "2s");
  });
}

if (secret) {
  await check("a wrong secret and an unknown key are refused", async () => {
    await refused(call("ListQueues", {}, new sdk.SQSClient(config(key, `${secret}x`))), "SignatureDoesNotMatch", "InvalidSignatureException");
    await refused(call("ListQueues", {}, new sdk.SQSClient(config("NOBODY", secret))), "InvalidClientTokenId");
  });
}

await check("queues are deleted", async () => {
  for (const QueueUrl of made) await call("DeleteQueue", { QueueUrl });
  await refused(call("GetQueueUrl", { QueueName: `${prefix}create` }), "QueueDoesNotExist");
});
finish();
