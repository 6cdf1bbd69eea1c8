// The page of traffic: who causes it, what holds it back, and what operators
// have changed.

import { call } from "./api.js";
import { byId, put } from "./dom.js";
import { breakers } from "./breakers.js";
import { guards } from "./guards.js";
import { form, overrides } from "./overrides.js";
import { alarm } from "./panic.js";
import { Pools } from "./pools.js";
import { settings } from "./settings.js";
import { TopCallers } from "./topcallers.js";

const every = 1000;

let wake = new AbortController(); // aborted when there is something to ask at once

function notice(text) {
  put(byId("notice"), text);
  byId("notice").hidden = text === "";
}

const soon = () => wake.abort();

// act does what a person asked for and says why when it cannot be done.
async function act(what, doing) {
  try {
    await doing();
    notice("");
  } catch (error) {
    notice(`${what} failed: ${error.message}`);
  }
  soon();
}

const pools = new Pools(), top = new TopCallers(soon);

// gone makes of an answer that a server does not have this part an empty one.
const gone = (id, text) => (error) => {
  if (error.status !== 404) throw error;
  put(byId(id), text);
  byId(id).hidden = false;
};

async function round() {
  const { fleets } = await call("GET", "/api/v1/fleets");
  alarm(fleets);
  pools.show(fleets);
  await top.poll().catch(gone("top-empty", "Callers are not counted here."));
  await breakers(act).catch(gone("breakers-empty", "This server has no circuit breakers."));
  await guards().catch(gone("guards-empty", "This server has no query guards."));
  overrides(await settings(act), act);
}

async function run() {
  let failed = false;
  for (;;) {
    if (!document.hidden) {
      try {
        await round();
        if (failed) notice("");
        failed = false;
      } catch (error) {
        failed = true;
        notice(error instanceof TypeError ? "No connection, trying again." : error.message);
      }
    }
    await pause(every);
  }
}

// pause waits, until somebody does not want to.
function pause(ms) {
  const { signal } = wake;
  return new Promise((resolve) => {
    const done = () => { clearTimeout(timer); wake = new AbortController(); resolve(); };
    const timer = setTimeout(resolve, ms);
    if (signal.aborted) done();
    else signal.addEventListener("abort", done, { once: true });
  });
}

byId("detail-close").addEventListener("click", () => byId("detail").close());
form(soon);
run();
