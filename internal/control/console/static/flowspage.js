// The page of flows: runs, and one of them with its graph, times, tasks, logs and
// what can be done. Names, reasons and logs are what tasks write.

import { call, read } from "./api.js";
import { ask, byId, facts, make, put } from "./dom.js";
import { count, many, visible } from "./format.js";
import { gantt, graph, most, shape, sum, tone, took } from "./flowpictures.js";
import { button, cell, query, row, table, when, wild } from "./parts.js";

const every = 1500, logLimit = 256 * 1024;
const chosen = () => new URLSearchParams(location.search);

let log = null; // {token, stop}: the log that is shown
let shown = ""; // what was drawn last, so that nothing is drawn twice

const state = (s) => make("span", { class: `state ${tone(s)}` }, `${shape(s)} ${s}`);
const runTone = { SUCCESS: "SUCCESS", RUNNING: "RUNNING", HELD: "HELD", FAILED: "FAILED", CANCELLED: "CANCELLED" };
const here = (more) => `flows?${query(more)}`;
const api = (run, rest = "") => `/api/flow/runs/${encodeURIComponent(run)}${rest}`;

function notice(text) {
  put(byId("notice"), visible(text));
  byId("notice").hidden = text === "";
}

async function round() {
  const p = chosen(), id = p.get("run");
  byId("runs").hidden = Boolean(id);
  byId("run").hidden = !id;
  byId("task").hidden = !id || !p.get("task");
  if (id) await run(id, p.get("task"), p.get("index"));
  else await runs();
}

async function runs() {
  const [list, flows] = await Promise.all([call("GET", "/api/flow/runs?limit=100"), call("GET", "/api/flow/flows")]);
  const now = JSON.stringify([list, flows]);
  if (now === shown) return;
  shown = now;
  put(byId("title"), "Flows");
  byId("flow-starts").replaceChildren(...flows.flows.map((f) => make("p", {}, make("b", {}, wild(f.name)), ` ${many(f.tasks, "task")}${f.schedule ? `, ${visible(f.schedule)} ${visible(f.zone || "UTC")}` : ""} `,
    button(`Run ${visible(f.name)}`, () => start(f), { "data-flow": f.name }))));
  byId("runs-empty").hidden = list.runs.length > 0;
  byId("runs-table").replaceChildren(list.runs.length === 0 ? "" : table("Runs", ["Run", "Flow", "State", "Began", "Why"], list.runs.map((r) =>
    row(r.id, make("th", { scope: "row" }, make("a", { href: here({ run: r.id }) }, make("code", {}, visible(r.id)))), cell(wild(r.flow)), cell(state(runTone[r.state] ?? r.state)),
      cell(when(r.created)), make("td", { class: "why" }, wild(r.why ?? ""))))).whole);
}

async function start(f) {
  const required = (f.params ?? []).filter((p) => p.required).map((p) => p.name);
  if (required.length > 0) {
    notice(`${f.name} needs ${required.join(", ")}: bezoar flow run --admin ADDR ${f.name} -p NAME=VALUE`);
    return;
  }
  if (!(await ask(`Run ${visible(f.name)}?`, `It has ${many(f.tasks, "task")}.`, "Run"))) return;
  await act("run", async () => {
    const r = await call("POST", "/api/flow/runs", { flow: f.name });
    go(here({ run: r.id }));
  });
}

async function act(what, doing) {
  try {
    await doing();
    notice("");
  } catch (error) {
    notice(`${what} failed: ${error.message}`);
  }
}

async function run(id, task, index) {
  const r = await call("GET", api(id));
  const now = JSON.stringify([r, task, index]);
  if (now !== shown || r.state === "RUNNING") {
    shown = now;
    draw(r, task);
  }
  if (task) await detail(r, task, index);
}

function draw(r, chosenTask) {
  put(byId("title"), `${visible(r.flow)} ${visible(r.id)}`);
  const left = r.left ? `, about ${r.left} left` : "";
  byId("run-sum").replaceChildren(state(runTone[r.state] ?? r.state), " ", wild(`${Object.entries(r.counts ?? {}).map(([s, n]) => `${count(n)} ${s}`).join(", ")}${left}`), r.why ? wild(` – ${r.why}`) : "");
  const dead = r.counts?.DEAD_LETTER ?? 0;
  mirror(byId("run-actions"), [
    dead > 0 ? ["Retry all dead letters", () => order(r, { verb: "retry" }, `Retry ${many(dead, "dead letter")}?`, "One goes first, the others follow if it works.", "Retry")] : null,
    r.state === "RUNNING" || r.state === "HELD" ? ["Cancel the run", () => order(r, { verb: "cancel" }, "Cancel the run?", "Running tasks are stopped. This cannot be undone.", "Cancel the run")] : null,
  ]);
  const href = (t) => here({ run: r.id, task: t.name });
  const drawn = JSON.stringify([r.id, chosenTask, r.tasks.map((t) => [t.name, t.state, t.why, t.counts])]);
  redraw(byId("graph"), drawn, () => (r.tasks.length > most ? `${count(r.tasks.length)} tasks are too many to draw; the table has them.` : graph(r.tasks, chosenTask, href)));
  byId("gantt").replaceChildren(gantt(r, Math.max(500, byId("gantt").clientWidth - 8), Date.now()) ?? "Nothing has run yet.");
  redraw(byId("tasks"), drawn, () => table("Tasks", ["Task", "State", "Needs", { text: "Took", number: true }, "Instances", "Why", { text: "Actions", hidden: true }], r.tasks.slice(0, 1000).map((t) =>
    row(t.name, make("th", { scope: "row" }, make("a", { href: href(t), "data-focus": `show ${t.name}` }, wild(t.name))), cell(state(t.state)), cell(wild((t.needs ?? []).join(", "))),
      make("td", { class: "number took" }), cell(t.each ? sum(t) : ""), make("td", { class: "why" }, wild(t.why ?? "")),
      make("td", { class: "actions-cell" }, ...buttons(r, t))))).whole);
  const byName = new Map(r.tasks.map((t) => [t.name, t]));
  for (const line of byId("tasks").querySelectorAll("tbody tr")) put(line.querySelector(".took"), took(byName.get(line.dataset.key), Date.now()));
}

const last = new Map(); // of what was drawn where

// redraw replaces what is shown when it differs, so that no click is lost. What
// had the focus there has it again.
function redraw(place, drawn, content) {
  if (last.get(place) === drawn) return;
  last.set(place, drawn);
  const had = place.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
  place.replaceChildren(content());
  if (had) [...place.querySelectorAll("[data-focus]")].find((e) => e.dataset.focus === had)?.focus({ preventScroll: true });
}

// mirror makes buttons anew only when they differ, so that the focus stays.
function mirror(place, wanted) {
  const all = wanted.filter(Boolean);
  if ([...place.children].map((b) => b.textContent).join("\n") === all.map(([text]) => text).join("\n")) return;
  place.replaceChildren(...all.map(([text, click]) => button(text, click)));
}

const over = ["SUCCESS", "FAILED", "UPSTREAM_FAILED", "SKIPPED", "CANCELLED"];

function buttons(r, t) {
  const has = (...states) => states.some((s) => t.counts?.[s]);
  const name = visible(t.name), out = [];
  if (has("DEAD_LETTER")) out.push(button("Retry", () => order(r, { verb: "retry", task: t.name }, `Retry ${name}?`, "It gets new budgets and keeps its history.", "Retry"), { "aria-label": `Retry ${name}`, "data-focus": `Retry ${t.name}` }));
  if (has("DEAD_LETTER", "HELD", "PENDING", "RETRYING")) out.push(button("Skip", () => order(r, { verb: "skip", task: t.name }, `Skip ${name}?`, "Tasks that need it run without it.", "Skip"), { "aria-label": `Skip ${name}`, "data-focus": `Skip ${t.name}` }));
  if (Object.keys(t.counts ?? {}).some((s) => !over.includes(s))) out.push(button("Cancel", () => order(r, { verb: "cancel", task: t.name }, `Cancel ${name}?`, "Tasks that need it do not run.", "Cancel the task"), { "aria-label": `Cancel ${name}`, "data-focus": `Cancel ${t.name}` }));
  return out;
}

async function order(r, o, title, text, yes) {
  if (!(await ask(title, text, yes))) return;
  await act(o.verb, async () => {
    const done = await call("POST", api(r.id, "/orders"), o);
    put(byId("said"), `${o.verb}: ${many(done.instances, "task")}`);
    await round();
  });
}

// detail shows one task: its instances, attempts and a log.
async function detail(r, name, index) {
  const t = r.tasks.find((t) => t.name === name);
  if (!t) {
    put(byId("task-title"), "There is no such task");
    byId("task-facts").replaceChildren();
    return;
  }
  put(byId("task-title"), visible(name));
  const one = t.instances?.find((i) => String(i.index) === index) ?? (t.each ? null : t.instances?.[0]);
  byId("task-facts").replaceChildren(facts([
    ["State", state(one?.state ?? t.state)], ["Why", one?.why || t.why ? wild(one?.why || t.why) : ""], ["Item", one?.item ? wild(one.item) : ""],
    ["Dead letter", one?.letter ? wild(one.letter) : ""], ["Failure group", one?.group ? wild(one.group) : ""], ["Output", one?.output ? wild(one.output) : ""],
    ...(one?.failures ?? []).map((f) => [`Failed as ${visible(f.class)}`, make("span", {}, when(f.at), " ", wild(f.reason ?? ""))]),
  ]));
  byId("instances").replaceChildren(t.each ? table("Instances", ["Item", "State", "Why"], (t.instances ?? []).map((i) =>
    row(i.index, make("th", { scope: "row" }, make("a", { href: here({ run: r.id, task: name, index: i.index }) }, wild(`${i.index} ${i.item ?? ""}`))), cell(state(i.state)), make("td", { class: "why" }, wild(i.why ?? ""))))).whole : "");
  const of = one ? { task: name, index: one.index, limit: 1000 } : { task: name, limit: 1000 };
  const attempts = (await call("GET", api(r.id, `/attempts?${query(of)}`))).attempts;
  choose(r, attempts);
}

function choose(r, attempts) {
  const select = byId("attempt"), list = attempts.toReversed();
  const label = (a) => `${a.task}${a.index > 0 ? `[${a.index}]` : ""} attempt ${a.n}: ${a.class ?? a.state}${a.elapsed ? `, ${a.elapsed}` : ""}`;
  if ([...select.options].map((o) => o.textContent).join("\n") !== list.map((a) => visible(label(a))).join("\n")) {
    const was = select.value;
    select.replaceChildren(...list.map((a) => make("option", { value: a.token }, visible(label(a)))));
    if (list.some((a) => String(a.token) === was) && was !== list[1]?.token?.toString()) select.value = was;
  }
  follow(r.id, select.value);
}

// follow shows a log as it is written, the last of it if it is long.
function follow(id, token) {
  if (log?.token === token) return;
  log?.stop.abort();
  byId("log").textContent = token ? "" : "No attempt yet.";
  if (!token) {
    log = null;
    return;
  }
  const mine = { token, stop: new AbortController() };
  log = mine;
  let text = "";
  read(api(id, `/logs/${encodeURIComponent(token)}?follow=1`), mine.stop.signal, (more) => {
    text = (text + more).slice(-logLimit);
    const place = byId("log"), end = place.scrollHeight - place.scrollTop - place.clientHeight < 40;
    place.textContent = text.split("\n").map(visible).join("\n");
    if (end) place.scrollTop = place.scrollHeight;
  }).catch((error) => {
    if (mine.stop.signal.aborted) return;
    if (text === "") byId("log").textContent = visible(error.message);
    if (log === mine) log = null; // the next round tries again
  });
}

function go(url) {
  history.pushState(null, "", url);
  log?.stop.abort();
  log = null;
  shown = "";
  return once();
}

async function once() {
  try {
    await round();
    if (byId("notice").dataset.lost) { notice(""); delete byId("notice").dataset.lost; }
  } catch (error) {
    byId("notice").dataset.lost = "true";
    notice(error instanceof TypeError ? "No connection, trying again." : error.status === 404 && !chosen().get("run") ? "This server runs no flows: add flows to its settings." : error.message);
  }
}

document.addEventListener("click", (e) => {
  const a = e.target.closest("a[href]");
  if (!a || e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey || !a.getAttribute("href").startsWith("flows")) return;
  e.preventDefault();
  go(a.getAttribute("href"));
});
byId("attempt").addEventListener("change", () => follow(chosen().get("run"), byId("attempt").value));
window.addEventListener("popstate", () => { shown = ""; return once(); });

async function live() {
  for (;;) {
    if (!document.hidden) await once();
    await new Promise((resolve) => setTimeout(resolve, every));
  }
}
live();
