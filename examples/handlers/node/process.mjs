// Works on one message, for `bezoar work -- node process.mjs`.
import { readFileSync, writeSync } from "node:fs";

// Says more than an exit code can.
const report = (more) => writeSync(3, JSON.stringify(more) + "\n");

async function work(body) {
  let job;
  try {
    job = JSON.parse(body);
  } catch (error) {
    report({ reason: `no JSON: ${error.message}` });
    process.exit(65); // never: a dead letter at once
  }
  if (job.busy) {
    report({ class: "throttled", retry_after: job.busy, downstream: "shop" });
    process.exit(75); // later
  }
  if (job.crash) process.kill(process.pid, "SIGSEGV");
  if (job.hang) await new Promise((done) => setTimeout(done, 3_600_000));
  console.log(job.text.toUpperCase()); // a text that is none throws: a bug, with this place as its fingerprint
}

await work(readFileSync(0, "utf8"));
