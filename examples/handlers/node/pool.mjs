// Works on one message after another, for `bezoar work --mode pool -- node pool.mjs`.
import { createInterface } from "node:readline";

const answer = (more) => process.stdout.write(JSON.stringify({ bezoar: 1, ...more }) + "\n");
console.log = console.info = console.error; // prints are not answers

// Returns what is worth saying of a message. What it throws is a bug of ours.
async function work(body) {
  let job;
  try {
    job = JSON.parse(body);
  } catch (error) {
    return { class: "invalid", reason: `no JSON: ${error.message}` };
  }
  if (job.busy) return { class: "throttled", retry_after: job.busy, downstream: "shop" };
  if (job.crash) process.kill(process.pid, "SIGSEGV");
  if (job.hang) await new Promise((done) => setTimeout(done, 3_600_000));
  console.log(job.text.toUpperCase());
  return {};
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { id, body, body_base64 } = JSON.parse(line);
  if (id === undefined) {
    answer({}); // the hello
    continue;
  }
  try {
    answer({ id, ...(await work(body ?? Buffer.from(body_base64, "base64").toString("latin1"))) });
  } catch (error) {
    console.error(error);
    answer({ id, class: "bug", reason: String(error).slice(0, 1000) });
  }
}
