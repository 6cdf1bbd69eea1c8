// Consumes with sqs-consumer: what it handles is deleted, what it fails at
// comes again and dies, and a batch is told apart entry by entry.
import assert from "node:assert/strict";
import { CreateQueueCommand, DeleteQueueCommand, GetQueueAttributesCommand, SendMessageBatchCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { Consumer } from "sqs-consumer";
import { check, config, finish, prefix } from "./checks.mjs";

const client = new SQSClient(config());
const made = [];

async function queue(name, Attributes) {
  const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName: prefix + name, Attributes }));
  made.push(QueueUrl);
  return QueueUrl;
}

async function attributes(QueueUrl) {
  return (await client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] }))).Attributes;
}

async function left(QueueUrl) {
  const a = await attributes(QueueUrl);
  return Number(a.ApproximateNumberOfMessages) + Number(a.ApproximateNumberOfMessagesNotVisible);
}

const send = (QueueUrl, MessageBody) => client.send(new SendMessageCommand({ QueueUrl, MessageBody }));

// consume runs a consumer until done says so, or for 20 s.
async function consume(options, done) {
  const consumer = Consumer.create({ sqs: client, waitTimeSeconds: 1, pollingWaitTimeMs: 0, ...options });
  const errors = [];
  consumer.on("error", (error) => errors.push(error));
  consumer.on("timeout_error", (error) => errors.push(error));
  consumer.start();
  const until = Date.now() + 20_000;
  while (!(await done()) && errors.length === 0 && Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const stopped = new Promise((resolve) => consumer.once("stopped", resolve));
  consumer.stop({ abort: true });
  await stopped;
  assert.deepEqual(errors.map(String), []);
  assert.ok(await done(), "not done after 20 s");
}

await check("messages are handled once and deleted", async () => {
  const queueUrl = await queue("handled");
  for (let i = 0; i < 12; i++) await send(queueUrl, `${i}`);
  const seen = [];
  await consume({ queueUrl, batchSize: 10, handleMessage: async (m) => { seen.push(Number(m.Body)); return m; } }, async () => seen.length >= 12 && (await left(queueUrl)) === 0);
  assert.deepEqual(seen.sort((a, b) => a - b), [...Array(12).keys()]);
});

await check("a batch handler acknowledges what it returns", async () => {
  const queueUrl = await queue("batches");
  await client.send(new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries: [..."abcd"].map((b) => ({ Id: b, MessageBody: b })) }));
  const seen = new Set();
  await consume({
    queueUrl,
    batchSize: 10,
    handleMessageBatch: async (all) => {
      all.forEach((m) => seen.add(m.Body));
      return all.filter((m) => m.Body !== "c");
    },
  }, async () => seen.size === 4 && (await left(queueUrl)) === 1);
});

await check("what fails comes again, and dies as the policy says", async () => {
  const dead = await queue("dead");
  const { QueueArn } = await attributes(dead);
  const queueUrl = await queue("failing", { RedrivePolicy: JSON.stringify({ deadLetterTargetArn: QueueArn, maxReceiveCount: 3 }) });
  await send(queueUrl, "bad");
  await send(queueUrl, "good");
  const tries = { bad: 0, good: 0 };
  await consume({
    queueUrl,
    terminateVisibilityTimeout: true,
    messageSystemAttributeNames: ["ApproximateReceiveCount"],
    handleMessage: async (m) => {
      assert.equal(m.Attributes.ApproximateReceiveCount, String(++tries[m.Body]));
      if (m.Body === "bad") throw new Error("as it should");
      return m;
    },
  }, async () => (await left(dead)) === 1);
  assert.deepEqual(tries, { bad: 3, good: 1 });
});

await check("a heartbeat keeps what takes long", async () => {
  const queueUrl = await queue("heartbeat", { VisibilityTimeout: "2" });
  await send(queueUrl, "slow");
  let seen = 0;
  await consume({
    queueUrl,
    visibilityTimeout: 2,
    heartbeatInterval: 1,
    handleMessage: async (m) => {
      seen++;
      await new Promise((resolve) => setTimeout(resolve, 4500));
      return m;
    },
  }, async () => seen > 0 && (await left(queueUrl)) === 0);
  assert.equal(seen, 1);
});

await check("queues are deleted", async () => {
  for (const QueueUrl of made) await client.send(new DeleteQueueCommand({ QueueUrl }));
});
finish();
