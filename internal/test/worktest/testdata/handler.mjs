// Does what a message says, however bad: see handler.py.

import { spawn } from "node:child_process";
import { appendFileSync, readFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

function note(m, what) {
  appendFileSync(process.env.DIARY, `${what} ${m.id} ${m.receives} ${process.pid} ${kindOf(m)}\n`, { mode: 0o600 });
}

const kindOf = (m) => m.body.split(" ")[0];
const deep = (n) => deep(n + 1) + 1;
const never = () => new Promise(() => {});

function bomb() {
  setInterval(() => spawn("sleep", ["600"], { stdio: "ignore" }).on("error", () => {}), 10);
  return never();
}

function writeAll(fd, bytes) {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (err) {
      if (err.code !== "EAGAIN") throw err; // the pipe is full
    }
  }
}

async function handle(m) {
  switch (kindOf(m)) {
    case "good":
      return "done";
    case "segv":
      process.kill(process.pid, "SIGSEGV");
      return never();
    case "abort":
      process.abort();
    case "oom":
      for (const hoard = []; ; ) hoard.push(Buffer.alloc(1 << 20, 1));
    case "loop":
      process.on("SIGTERM", () => {});
      for (const cell = new Int32Array(new SharedArrayBuffer(4)); ; ) Atomics.wait(cell, 0, 0); // as a loop would, it blocks the event loop
    case "bomb":
      return bomb();
    case "escape":
      spawn("/bin/sh", ["-c", `sleep 600; : ${m.id}/${m.receives}`], { detached: true, stdio: "inherit", env: {} }).unref();
      return "done";
    case "invalid":
      return "invalid";
    case "later":
      return m.receives > 3 ? "done" : "transient";
    case "overflow":
      return deep(0);
    case "flood": {
      const line = Buffer.alloc(1 << 20, "x");
      for (let i = 0; i < 50; i++) writeAll(2, line);
      writeAll(2, Buffer.from("\nError: flooded\n")); // what it throws Node itself loses, when the pipe is full
      process.exit(1);
    }
  }
  throw new Error(`no kind ${kindOf(m)}`);
}

async function one() {
  const m = { id: process.env.BEZOAR_MESSAGE_ID, receives: Number(process.env.BEZOAR_RECEIVE_COUNT), body: readFileSync(0, "utf8") };
  note(m, "begin");
  process.exitCode = { done: 0, invalid: 65, transient: 75 }[await handle(m)];
  note(m, "end");
}

async function pool() {
  for await (const line of createInterface({ input: process.stdin })) {
    const m = JSON.parse(line);
    if (!m.id) {
      console.log('{"bezoar":1}');
      continue;
    }
    note(m, "begin");
    const answer = { bezoar: 1, id: m.id, class: await handle(m) };
    note(m, "end");
    console.log(JSON.stringify(answer));
  }
}

await (process.argv[2] === "pool" ? pool() : one());
