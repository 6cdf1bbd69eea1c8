// Tasks: how far they have come, what became of what they moved, and how to
// make them stand still.

import { call } from "./api.js";
import { ask, facts, make, put } from "./dom.js";
import { count, many, visible } from "./format.js";
import { badge, button, cell, fresh, link, mark, none, row, table, trash, when, wild } from "./parts.js";
import { halts } from "./order.js";

const heads = ["Task", "State", "Progress", { text: "Worked", number: true }, { text: "Failed again", number: true }, { text: "Waiting", number: true },
  { text: "Left", number: true }, "Started", { text: "Actions", hidden: true }];
const every = 1000;
const names = { pause: "Pause", resume: "Resume", cancel: "Cancel" };
const live = (t) => ["running", "paused", "halted"].includes(t.state);
const path = (id) => `/api/v1/dead/tasks/${encodeURIComponent(id)}`;

export async function tasks({ act, say }) {
  const read = async () => (await call("GET", "/api/v1/dead/tasks?limit=100")).tasks;
  const list = await read();
  const update = updater(say);
  const { body, whole } = table("Tasks", heads, list.map((t) => line(t, update, act)));
  return {
    title: "Tasks", every,
    content: [list.length ? whole : none("Nothing was redriven, discarded or restored yet.")],
    watch: async () => fresh(body, await read(), (t) => t.id, update),
  };
}

// task shows one task, with what arrived while it was at work.
export async function task({ parameters, act, say }) {
  const id = parameters.get("id") ?? "";
  const read = () => call("GET", path(id));
  const t = await read();
  const update = updater(say);
  const { body, whole } = table("Task", heads, [line(t, update, act)]);
  const arrivals = make("p", { id: "arrivals" }), failure = make("p", { class: "wrong", id: "failure" });
  const rate = make("input", { id: "rate", type: "number", min: 1, max: 10000, value: t.rate });
  const form = make("form", { class: "filters", submit: (e) => {
    e.preventDefault();
    act("change the rate", async () => { show(await call("POST", path(id), { action: "rate", rate: Number(rate.value) })); say("the rate is changed"); });
  } }, make("label", { for: "rate" }, "Letters a second"), rate, make("button", { type: "submit", class: "quiet" }, "Change"));
  const show = (now) => {
    update(body.firstChild, now);
    form.hidden = !live(now);
    put(failure, visible(now.failure ?? ""));
    put(arrivals, now.arrivals ? `${many(now.arrivals, "letter")} like those died since it started.` : "");
  };
  show(t);
  return {
    title: "Task", every,
    content: [whole, failure, arrivals, form, details(t)],
    watch: async () => { show(await read()); return 0; },
  };
}

function details(t) {
  const redrive = t.verb === "redrive";
  return facts([
    ["Id", make("code", {}, t.id)],
    ["From", place(t.source)], ["To", redrive ? (t.destination ? wild(t.destination) : "the queue each letter came from") : ""],
    ["Canary", redrive ? (t.canary ? `${count(t.canary)} go first` : "none") : ""], ["Halt", redrive ? halts(t.halt_above) : ""],
    ["Class", t.selection.class ?? ""], ["Groups", (t.selection.groups ?? []).length ? wild(t.selection.groups.join("\n")) : ""],
    ["Chosen", t.selection.ids?.length ? count(t.selection.ids.length) : ""],
    ["Who", wild(t.actor)], ["Why", t.reason ? wild(t.reason) : ""],
  ]);
}

const place = (queue) => (queue === trash ? "the trash" : wild(queue));

function line(t, update, act) {
  const id = t.id, name = `${t.verb} of ${t.source === trash ? "the trash" : visible(t.source)}`;
  const change = (action) => button(names[action], async () => {
    if (action === "cancel" && !await ask("Cancel the task?", "Letters that it has moved stay there. The others stay where they are.", "Cancel the task")) return;
    await act(action, async () => update(r, await call("POST", path(id), { action })));
  }, { "aria-label": `${names[action]} ${name}`, "data-action": action });
  const r = row(id,
    make("th", { scope: "row" }, link(t.verb, { view: "task", id }), make("small", {}, "from ", place(t.source))),
    cell(badge(t.state), make("small")),
    cell(make("progress", { "aria-label": `progress of ${name}` }), make("small")),
    make("td", { class: "number" }), make("td", { class: "number" }), make("td", { class: "number" }), make("td", { class: "number" }),
    cell(when(t.started), t.actor ? make("small", {}, wild(t.actor)) : null),
    make("td", { class: "actions-cell" }, ...Object.keys(names).map(change)));
  update(r, t);
  return r;
}

// updater changes rows in place and says when a task comes to another state.
function updater(say) {
  const states = new Map();
  return (r, t) => {
    const [, state, progress, worked, failed, waiting, left, , buttons] = r.children;
    if (states.has(t.id) && states.get(t.id) !== t.state) say(`the ${t.verb} is ${t.state}`);
    states.set(t.id, t.state);
    const redrive = t.verb === "redrive";
    mark(state.children[0], t.state);
    put(state.children[1], visible(t.failure ?? (t.waits ? `waits for ${t.waits}` : "")));
    progress.children[0].max = Math.max(1, t.planned);
    progress.children[0].value = t.moved;
    put(progress.children[1], `moved ${count(t.moved)} of ${count(t.planned)}`);
    put(worked, redrive ? count(t.succeeded) : "–");
    put(failed, redrive ? count(t.failed_again) : "–");
    failed.dataset.tone = t.failed_again ? "bad" : "";
    put(waiting, redrive ? count(t.waiting) : "–");
    put(left, t.left ? time(t.left / 1e9) : "–");
    const can = { pause: t.state === "running", resume: t.state === "paused" || t.state === "halted", cancel: live(t) };
    for (const b of buttons.children) b.disabled = !can[b.dataset.action];
  };
}

const time = (s) => (s < 90 ? `${Math.ceil(s)} s` : s < 5400 ? `${Math.ceil(s / 60)} min` : `${Math.ceil(s / 3600)} h`);
