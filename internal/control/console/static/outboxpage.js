// The page of outboxes: what waits, who delivers it, and what needs a person. Topics,
// reasons and owners are what others wrote.

import { call } from "./api.js";
import { byId, make, put } from "./dom.js";
import { count, many, visible } from "./format.js";
import { badge, cell, number, query, row, table, when, wild } from "./parts.js";

const every = 2000;
let shown = ""; // what was drawn last, so that nothing is drawn twice

function notice(text) {
  put(byId("notice"), visible(text));
  byId("notice").hidden = text === "";
}

const letters = (name) => `queues?${query({ view: "groups", queue: `outbox:${name}` })}`;

function relay(o) {
  const r = o.relay;
  if (o.error) return [badge("down"), " the database does not answer: ", wild(o.error)];
  if (!r.epoch) return [badge("stopped"), " nobody has delivered this outbox yet"];
  const who = [" ", wild(r.owner), `, epoch ${count(r.epoch)}${r.here ? ", this process" : ""}, until `, when(r.until)];
  return [badge(r.alive ? "running" : "stopped"), ...(r.alive ? who : [" nobody delivers; the last one was", ...who])];
}

const parked = (o, n) => make("td", { class: "number" }, n > 0 ? make("a", { href: letters(o.name) }, count(n)) : count(n));

function topics(o) {
  if (o.topics.length === 0) return make("p", { class: "empty" }, o.error ? "" : "Nothing waits.");
  const flying = (t) => o.flights.filter((f) => f.topic === t.topic).reduce((n, f) => n + f.events, 0);
  const numbers = ["Ready", "In flight", "Retrying", "Parked", "Held behind"].map((text) => ({ text, number: true }));
  return table(`Topics of ${visible(o.name)}`, ["Topic", ...numbers, "Oldest", "Sink"], o.topics.map((t) =>
    row(t.topic, make("th", { scope: "row" }, wild(t.topic)), number(t.ready), number(flying(t)), number(t.retrying), parked(o, t.parked), number(t.behind),
      cell(t.oldest ? when(t.oldest) : "–"), cell(wild(t.sink ?? ""))))).whole;
}

function sinks(o) {
  if (!o.sinks?.length) return "";
  return table(`Sinks of ${visible(o.name)}`, ["Sink", "State", "Why", "Last batch"], o.sinks.map((s) =>
    row(s.name, make("th", { scope: "row" }, wild(s.name)), cell(badge(s.paused ? "paused" : "ok")),
      cell(wild(s.reason ?? ""), ...(s.paused ? [" tried again at ", when(s.until)] : [])), cell(visible(s.latency ?? ""))))).whole;
}

const size = (n) => (n < 1 << 20 ? `${count(Math.ceil(n / 1024))} KiB` : `${count(Math.round(n / (1 << 20)))} MiB`);

function slots(o) {
  if (!o.slots?.length) return "";
  return table(`Replication slots beside ${visible(o.name)}`, ["Slot", "State", { text: "Retained", number: true }, { text: "Unconfirmed", number: true }, "Full in", "Held by", "Why"],
    o.slots.map((s) => row(s.name, make("th", { scope: "row" }, wild(s.name)), cell(badge(s.state)), make("td", { class: "number" }, size(s.retained_bytes)),
      make("td", { class: "number" }, size(s.unconfirmed_bytes)), cell(s.limit_in && s.limit_in !== "0s" ? visible(s.limit_in) : "–"), cell(wild(s.held_by ?? "")), cell(wild(s.why ?? ""))))).whole;
}

function section(o) {
  const title = `outbox-${o.name}`, waiting = o.topics.reduce((n, t) => n + t.parked, 0);
  return make("section", { class: "panel", "aria-labelledby": title, "data-outbox": o.name },
    make("h2", { id: title }, wild(o.name), ` (${visible(o.database)})`),
    make("p", { class: "relay" }, ...relay(o)),
    ...(o.alarms ?? []).map((a) => make("p", { class: "alarm" }, badge("firing"), " ", wild(a.what), " since ", when(a.since))),
    waiting > 0 ? make("p", {}, make("a", { href: letters(o.name) }, `${many(waiting, "parked event")} by what failed`)) : "",
    topics(o), sinks(o), slots(o));
}

async function round() {
  const list = (await call("GET", "/api/v1/outboxes")).outboxes, now = JSON.stringify(list);
  if (now === shown) return;
  shown = now;
  byId("empty").hidden = list.length > 0;
  const focus = document.activeElement?.closest?.("a[href]")?.getAttribute("href");
  byId("outboxes").replaceChildren(...list.map(section));
  if (focus) byId("outboxes").querySelector(`a[href="${CSS.escape(focus)}"]`)?.focus();
}

async function live() {
  for (;;) {
    if (!document.hidden) {
      try {
        await round();
        notice("");
      } catch (error) {
        notice(error instanceof TypeError ? "No connection, trying again." : error.message);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, every));
  }
}
live();
