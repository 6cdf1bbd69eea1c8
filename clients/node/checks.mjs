// What the scripts here share: one line per check, and the environment.
import assert from "node:assert/strict";

export const endpoint = process.env.CLIENTS_ENDPOINT;
export const prefix = process.env.CLIENTS_PREFIX;
export const key = process.env.CLIENTS_KEY || "any";
export const secret = process.env.CLIENTS_SECRET || "";
export const bezoar = !process.env.CLIENTS_PEER; // a peer lacks what only Bezoar has

if (!endpoint || !prefix) {
  console.error("set CLIENTS_ENDPOINT to the endpoint's URL and CLIENTS_PREFIX to what queues' names begin with");
  process.exit(2);
}

let failed = 0;

// check runs one check and prints its line.
export async function check(name, run) {
  try {
    await run();
    console.log(`ok   ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}: ${String(error.message ?? error).replaceAll("\n", " ").slice(0, 500)}`);
  }
}

// finish sets the exit code.
export function finish() {
  if (failed > 0) console.log(`${failed} checks failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

// refused wants a call to fail with an error of this name.
export async function refused(promise, ...names) {
  try {
    await promise;
  } catch (error) {
    assert.ok(names.includes(error.name), `error ${error.name} (${error.message}), want ${names.join(" or ")}`);
    return error;
  }
  assert.fail(`no error, want ${names.join(" or ")}`);
}

// config is that of a client with these credentials. What fails once fails.
export const config = (accessKeyId = key, secretAccessKey = secret || "any") => ({
  endpoint,
  region: "us-east-1",
  maxAttempts: 1,
  credentials: { accessKeyId, secretAccessKey },
});
