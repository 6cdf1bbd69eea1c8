// Overview: fleets, queues and alarms in one list, the worst first.

import { byId, keep, make, put } from "./dom.js";
import { count, many, visible } from "./format.js";
import { badge, mark, query, wild } from "./parts.js";

const most = 40; // lines that are shown
const well = 9;  // the rank of what nobody has to look at
const ranks = { down: 0, panic: 1, firing: 2, degraded: 3, paused: 4, open: 4, stopped: 4, trying: 5, "half-open": 5, failed: 5, letters: 6 };
const rank = (word) => ranks[word] ?? well;

// worst is the name of the fleet that needs a look most.
export const worst = (fleets) => [...fleets].sort((a, b) => rank(ofFleet(a).word) - rank(ofFleet(b).word))[0]?.name ?? "";

// shelves are the queues that are the dead-letter queues of others.
export const shelves = (queues) => {
  const named = new Set(queues.map((q) => q.dead_letter));
  return queues.filter((q) => named.has(q.name));
};

export const held = (q) => q.visible + q.in_flight + q.delayed;

function ofFleet(f) {
  const up = f.workers.filter((w) => w.state === "ready").length;
  const stopped = f.rollout?.state === "stopped";
  return {
    kind: "fleet", name: f.name, word: stopped && rank(f.state) > rank("stopped") ? "stopped" : f.state,
    text: [`${up} of ${f.workers.length} workers serve`, stopped ? "its rolling restart stopped" : ""].filter(Boolean).join("; "),
  };
}

function ofQueue(q, shelf) {
  const at = q.state.indexOf(": "), state = at < 0 ? q.state : q.state.slice(0, at);
  const line = { kind: "queue", name: q.name, word: state, text: at < 0 ? `${many(q.visible, "message")} to deliver, ${count(q.in_flight)} in flight` : q.state.slice(at + 2) };
  if (!shelf) return { ...line, href: `queues?${query({ view: "queues", prefix: q.name })}` };
  const href = `queues?${query({ view: "groups", queue: q.name })}`;
  if (!held(q)) return { ...line, href, text: "no dead letters" };
  const text = `${many(held(q), "dead letter")}, the oldest ${q.oldest}`;
  return rank(state) < rank("letters") ? { ...line, href, text: `${line.text}; ${text}` } : { ...line, href, word: "letters", text };
}

function ofAlarm(a) {
  const of = a.queue === "*" ? "all dead-letter queues" : a.queue;
  const line = { kind: "alarm", name: a.name, href: `queues?${query({ view: "groups", queue: a.queue === "*" ? "" : a.queue })}` };
  const value = `${a.kind} of ${of}: ${count(a.value)}, limit ${count(a.limit)}`;
  if (a.firing) return { ...line, word: "firing", text: a.failure ? `${value}; ${a.failure}` : value };
  return a.failure ? { ...line, word: "failed", text: a.failure } : { ...line, word: "ok", text: value };
}

// standing shows the list. pick is called with the name of a fleet.
export function standing(fleets, queues, alarms, pick) {
  const dead = new Set(shelves(queues));
  const all = [...fleets.map(ofFleet), ...alarms.map(ofAlarm), ...queues.map((q) => ofQueue(q, dead.has(q)))];
  all.sort((a, b) => rank(a.word) - rank(b.word)); // a stable sort: else as they came
  const shown = all.slice(0, most), bad = all.filter((l) => rank(l.word) < well).length;
  const key = (l) => `${l.kind} ${l.name}`, body = byId("standing-rows");
  keep(body, shown, key, (l) => row(l, pick), update);
  arrange(body, shown.map(key));
  byId("standing").dataset.tone = bad ? "bad" : "good";
  put(byId("standing-said"), bad ? `${count(bad)} of ${count(all.length)} need a look` : `all ${count(all.length)} are ok`);
  const more = all.length - shown.length;
  byId("standing-more").hidden = more === 0;
  put(byId("standing-more"), `and ${count(more)} more`);
}

function row(l, pick) {
  const name = l.kind === "fleet"
    ? make("button", { type: "button", class: "quiet", "aria-label": `Show fleet ${visible(l.name)}`, click: () => pick(l.name) }, wild(l.name))
    : make("a", { href: l.href }, wild(l.name));
  return make("tr", {}, make("td", {}, badge(l.word)), make("td", {}, l.kind), make("th", { scope: "row" }, name), make("td", { class: "work" }));
}

function update(r, l) {
  mark(r.children[0].firstChild, l.word);
  put(r.children[3], visible(l.text));
}

// arrange puts rows in order. The focus stays where it is.
function arrange(body, keys) {
  const rows = new Map([...body.children].map((r) => [r.dataset.key, r]));
  if ([...rows.keys()].join("\n") === keys.join("\n")) return;
  const focus = body.contains(document.activeElement) ? document.activeElement : null;
  body.append(...keys.map((k) => rows.get(k)));
  focus?.focus({ preventScroll: true });
}
