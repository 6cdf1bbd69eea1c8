// The console's page: asks the API how things stand, follows what happens, and
// lets each part show its own.

import { call, follow } from "./api.js";
import { ask, byId, make, put } from "./dom.js";
import { count, many, visible, words } from "./format.js";
import { Log } from "./log.js";
import { alarm } from "./panic.js";
import { Picture } from "./picture.js";
import { query } from "./parts.js";
import { letters, verdicts } from "./quarantine.js";
import { held, shelves, standing, worst } from "./standing.js";

const each = 1000;

const opened = Date.now();
const log = new Log();
const picture = new Picture(each);
let shown = ""; // the fleet that is shown
let around = { queues: [], alarms: [] }; // what there is beside fleets
let stale = { verdicts: true, letters: true };

// act does what a person asked for and says why when it cannot be done.
async function act(what, doing) {
  try {
    await doing();
    notice("");
  } catch (error) {
    notice(`${what} failed: ${error.message}`);
  }
  stale = { verdicts: true, letters: true };
}

function notice(text) {
  put(byId("notice"), text);
  byId("notice").hidden = text === "";
}

function link(state) {
  byId("link").dataset.state = state;
  put(byId("link"), { live: "live", lost: "no connection, trying again", wait: "connecting …" }[state]);
}

async function pollFleets() {
  const { fleets } = await call("GET", "/api/v1/fleets");
  alarm(fleets);
  pick(fleets);
  standing(fleets, around.queues, around.alarms, show);
  const fleet = fleets.find((f) => f.name === shown);
  if (!fleet) return;
  picture.update(fleet);
  const up = fleet.workers.filter((w) => w.state === "ready").length;
  put(byId("fleet-state"), `${fleet.name}: ${fleet.state}, ${up} of ${fleet.workers.length} workers serve`);
  byId("restart").hidden = !fleet.managed;
  put(byId("callers-number"), count(fleet.counters.answered ?? 0));
  put(byId("callers-unit"), "answered");
  picture.refused(fleet.counters.refused ?? 0);
  put(byId("quarantine-unit"), `${count(fleet.counters.refused ?? 0)} refused`);
  byId("counters").replaceChildren(...Object.entries(fleet.counters).sort().map(([name, n]) =>
    make("div", {}, make("dt", {}, words(name)), make("dd", {}, count(n)))));
}

function pick(fleets) {
  const select = byId("fleet-pick");
  const names = fleets.map((f) => f.name);
  if (!names.includes(shown)) shown = worst(fleets);
  select.hidden = names.length < 2;
  if ([...select.options].map((o) => o.value).join("\n") === names.join("\n")) return;
  select.replaceChildren(...names.map((n) => make("option", { value: n }, n)));
  select.value = shown;
}

// show shows another fleet.
function show(name) {
  shown = byId("fleet-pick").value = name;
}

// allQueues lists queues, a page of a thousand after the other.
async function allQueues() {
  const all = [];
  try {
    for (let after = ""; after != null;) {
      const page = await call("GET", `/api/v1/queues?${query({ after })}`);
      all.push(...page.queues);
      after = page.next ?? null;
    }
  } catch (error) {
    if (error.status !== 404) throw error; // else this server has none
  }
  return all;
}

// pollAround looks at what may stand badly while every fleet is well.
async function pollAround() {
  const { alarms } = await call("GET", "/api/v1/alarms");
  const queues = await allQueues();
  around = { queues, alarms };
  const dead = shelves(queues).reduce((n, q) => n + held(q), 0);
  byId("queue-letters").hidden = dead === 0;
  put(byId("queue-letters").firstChild, `Queues hold ${many(dead, "dead letter")}`);
}

async function pollTables(round) {
  if (stale.verdicts || round % 5 === 0) {
    stale.verdicts = false;
    const { verdicts: list } = await call("GET", "/api/v1/quarantine");
    put(byId("quarantine-number"), count(verdicts(list, act)));
  }
  if (stale.letters || round % 10 === 0) {
    stale.letters = false;
    letters((await call("GET", "/api/v1/letters?limit=100")).letters, act);
  }
}

function happened(event) {
  log.add(event);
  if (new Date(event.at).getTime() < opened) return; // it is in the tables already
  if (event.kind === "worker.down") picture.down(event.worker, !["interrupted", undefined].includes(event.class));
  if (event.kind === "verdict") stale = { verdicts: true, letters: true };
}

// poll repeats what it is given, one call after the other, while the page can
// be seen.
async function poll(interval, ask) {
  for (let round = 0; ; round++) {
    if (!document.hidden) {
      try {
        await ask(round);
      } catch (error) {
        if (!(error instanceof TypeError)) notice(error.message); // TypeError: no connection, and the link says so
      }
    }
    await new Promise((resolve) => setTimeout(resolve, interval));
  }
}

byId("detail-close").addEventListener("click", () => byId("detail").close());
byId("fleet-pick").addEventListener("change", (e) => show(e.target.value));
byId("restart").addEventListener("click", async () => {
  const name = shown; // the answer is about this one, whatever is shown by then
  const yes = await ask("Restart it?", `Every worker of ${visible(name)} is replaced, one after another. Requests in flight are finished first.`, "Restart");
  if (yes) await act("restart", () => call("POST", `/api/v1/fleets/${encodeURIComponent(name)}/restart`));
});

link("wait");
poll(each, pollFleets);
poll(3000, pollAround);
poll(1000, pollTables);
follow("/api/v1/events", new AbortController().signal, happened, link);
