// The list of queues.

import { call } from "./api.js";
import { ask, make, put } from "./dom.js";
import { count } from "./format.js";
import { actions, badge, button, cell, fresh, link, mark, none, number, query, row, table, wild } from "./parts.js";

const heads = ["Queue", "State", { text: "Visible", number: true }, { text: "In flight", number: true }, { text: "Delayed", number: true },
  { text: "Oldest", number: true }, "Dead letters to", { text: "Actions", hidden: true }];

export async function queues({ parameters, act, go, again }) {
  const prefix = parameters.get("prefix") ?? "";
  const read = async () => (await call("GET", `/api/v1/queues?${query({ prefix })}`)).queues;
  const list = await read();
  const names = new Set(list.map((q) => q.name)), shelves = new Set(list.map((q) => q.dead_letter));
  const { body, whole } = table("Queues", heads, list.map((q) => line(q, names.has(q.dead_letter), shelves.has(q.name), act, again)));
  const form = make("form", { class: "filters", submit: (e) => {
    e.preventDefault();
    go(`?${query({ view: "queues", prefix: e.target.elements.prefix.value.trim() })}`);
  } },
  make("label", { for: "prefix" }, "Name begins with"),
  make("input", { id: "prefix", name: "prefix", value: prefix, autocomplete: "off", spellcheck: "false" }),
  make("button", { type: "submit", class: "quiet" }, "Filter"));
  return {
    title: "Queues",
    content: [form, list.length ? whole : none(prefix ? "No queue has such a name." : "There is no queue yet.")],
    watch: async () => fresh(body, await read(), (q) => q.name, update),
  };
}

// line is one queue; made says whether its dead-letter queue is there, and shelf
// whether it is one itself.
function line(q, made, shelf, act, again) {
  const resume = button("Resume", async () => {
    const yes = await ask("Resume it?", `${q.name} will be delivered at once, whatever paused it.`, "Resume");
    if (yes) await act("resume", async () => { await call("POST", `/api/v1/queues/${encodeURIComponent(q.name)}/resume`); await again(); });
  }, { "aria-label": `Resume ${q.name}` });
  const there = made || !q.implicit_dead_letter;
  const to = cell(there ? link(q.dead_letter, { view: "groups", queue: q.dead_letter }) : "none yet", make("small", {}, policy(q, there)));
  const letters = shelf ? link("Letters in it", { view: "letters", queue: q.name }, { class: "button", "aria-label": `Letters in ${q.name}` })
    : link("Letters from it", { view: "letters", origin: q.name }, { class: "button", "aria-label": `Letters from ${q.name}` });
  const r = row(q.name,
    make("th", { scope: "row" }, wild(q.name), q.fifo ? make("small", {}, "in order (FIFO)") : null),
    make("td", { class: "why" }, badge("ok"), make("small")),
    number(q.visible), number(q.in_flight), number(q.delayed), make("td", { class: "number" }), to, actions(resume, letters));
  update(r, q);
  return r;
}

function policy(q, there) {
  const after = q.max_receive_count ? `after ${count(q.max_receive_count)} receives` : "by verdicts only";
  return there ? after : `${after}; ${q.dead_letter} is made when needed`;
}

function update(r, q) {
  const [, state, visible, inFlight, delayed, oldest, , buttons] = r.children;
  put(visible, count(q.visible));
  put(inFlight, count(q.in_flight));
  put(delayed, count(q.delayed));
  put(oldest, q.oldest === "0s" ? "–" : q.oldest);
  const at = q.state.indexOf(": ");
  const word = at < 0 ? q.state : q.state.slice(0, at);
  mark(state.children[0], word);
  put(state.children[1], at < 0 ? "" : wild(q.state.slice(at + 2)).textContent);
  buttons.children[0].hidden = word !== "paused" && word !== "trying";
}
