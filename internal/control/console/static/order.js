// Doing something with many letters: say how, see exactly what would happen,
// then do that and nothing else.

import { call } from "./api.js";
import { byId, facts, make, put } from "./dom.js";
import { count, many, visible } from "./format.js";
import { badge, cell, link, query, row, table, when, wild } from "./parts.js";
import { asSelection, chosen } from "./selection.js";

const typedAbove = 100; // letters: more have to be counted by hand
const samples = 8; // groups that a plan shows

const words = { redrive: ["Redrive", "sent again"], discard: ["Discard", "moved to the trash, where they are kept for seven days"], restore: ["Restore", "moved back to where they were"] };

export async function order(context) {
  const { parameters, act } = context;
  const verb = words[parameters.get("verb")] ? parameters.get("verb") : "redrive";
  const selection = chosen(parameters);
  const form = make("form", { class: "order", id: "order", submit: (e) => {
    e.preventDefault();
    act("plan", () => plan(context, { verb, selection: asSelection(selection), options: options(verb, form.elements) }));
  } },
  facts([["Letters", selected(selection)], ["They will be", words[verb][1]]]),
  ...(verb === "redrive" ? await how() : []),
  field("rate", "Letters a second", { type: "number", min: 1, max: 10000, value: 50 }),
  field("reason", "Why, for the audit log", { maxlength: 1000 }),
  make("p", { class: "actions" },
    link("Back", { view: "groups", ...selection }, { class: "button" }),
    make("button", { type: "submit", class: "primary", id: "order-plan" }, "Show what would happen")));
  return { title: `${words[verb][0]} letters`, content: [form] };
}

function selected({ queue, origin, class: kind, group, id, after, before, body, reason, attribute }) {
  const list = make("ul", { class: "plain" });
  const add = (name, value) => value && list.append(make("li", {}, `${name} `, wild(value)));
  add("in", queue ?? "all dead-letter queues");
  add("from", origin);
  add("of class", kind);
  for (const g of group ?? []) add("of group", g);
  if (id) add("chosen one by one:", count(id.length));
  add("with in their body:", body);
  add("with in their reason:", reason);
  for (const a of attribute ?? []) add("with the attribute", a);
  add("died from", after);
  add("died before", before);
  return list;
}

const field = (name, label, attributes, help) => make("p", { class: "field" },
  make("label", { for: `order-${name}` }, label),
  make("input", { id: `order-${name}`, name, autocomplete: "off", ...attributes, "aria-describedby": help ? `order-${name}-help` : null }),
  help ? make("small", { id: `order-${name}-help` }, help) : null);

async function how() {
  const { queues } = await call("GET", "/api/v1/queues");
  return [
    field("destination", "To", { list: "order-queues", spellcheck: "false", placeholder: "the queue each came from" }),
    make("datalist", { id: "order-queues" }, ...queues.map((q) => make("option", { value: q.name }))),
    field("canary", "Canary", { type: "number", min: 0, max: 10000, placeholder: "5, if there are more than 20" }, "So many go first; the rest waits until those worked. 0: none."),
    field("halt", "Halt when more fail again than (%)", { type: "number", min: 0, max: 100, value: 20 }, "Of those that ended. 0: at the first; 100: never."),
  ];
}

function options(verb, of) {
  const o = { rate: Number(of.rate.value) || 0, reason: of.reason.value.trim() };
  if (verb !== "redrive") return o;
  const canary = of.canary.value.trim(), halt = Number(of.halt.value) / 100;
  o.destination = of.destination.value.trim();
  if (canary !== "") o.canary = Number(canary) === 0 ? -1 : Number(canary);
  o.halt_above = halt === 0 ? -1 : halt;
  return o;
}

// plan asks what an order would do, shows it, and does it if somebody says so.
export async function plan(context, wanted) {
  for (;;) {
    const p = await context.act("plan", () => call("POST", "/api/v1/dead/plans", wanted));
    if (!p) return;
    const answer = await confirm(p);
    if (answer === "again") continue;
    if (!answer) return;
    const { tasks } = answer;
    context.go(`?${query(tasks.length === 1 ? { view: "task", id: tasks[0].id } : { view: "tasks" })}`);
    return;
  }
}

// confirm returns the answer to the execution of a plan, "again", or null. The
// focus is on Cancel, and the key that opened it does nothing else.
function confirm(p) {
  const [verb] = words[p.verb], dialog = byId("plan"), typed = byId("plan-typed");
  const [yes, no, again, wrong] = ["plan-yes", "plan-no", "plan-again", "plan-wrong"].map(byId);
  const counted = p.count <= typedAbove;
  const name = many(p.count, "letter");
  put(byId("plan-title"), `${verb} ${name}?`);
  put(yes, `${verb} ${name}`);
  byId("plan-body").replaceChildren(...contents(p));
  byId("plan-count").hidden = counted;
  put(byId("plan-typed-label"), `Type ${p.count} to go on`);
  typed.value = "";
  yes.disabled = !counted;
  yes.hidden = false;
  again.hidden = wrong.hidden = true;
  dialog.showModal();
  no.focus();
  return new Promise((resolve) => {
    const stop = new AbortController(), { signal } = stop;
    let answer = null;
    const close = (a) => { answer = a; dialog.close(); };
    const right = () => counted || typed.value.replaceAll(/[\s\u202f,.]/g, "") === String(p.count);
    const execute = async () => {
      if (!right() || yes.disabled) return;
      yes.disabled = true;
      try {
        close(await call("POST", `/api/v1/dead/plans/${encodeURIComponent(p.id)}/execute`));
      } catch (error) {
        put(wrong, visible(error.message));
        wrong.hidden = yes.hidden = false;
        yes.hidden = again.hidden = false;
        if (error.status === 409 || error.status === 404) yes.hidden = true;
        else yes.disabled = false;
        no.focus();
      }
    };
    typed.addEventListener("input", () => { yes.disabled = !right(); }, { signal });
    byId("plan-form").addEventListener("submit", (e) => e.preventDefault(), { signal });
    yes.addEventListener("click", execute, { signal });
    no.addEventListener("click", () => close(null), { signal });
    again.addEventListener("click", () => close("again"), { signal });
    dialog.addEventListener("close", () => { stop.abort(); resolve(answer); }, { signal });
  });
}

function contents(p) {
  const o = p.options, redrive = p.verb === "redrive";
  const groups = table("Groups", ["What failed", "Queue", { text: "Letters", number: true }], (p.groups ?? []).slice(0, samples).map((g) =>
    row("", make("td", { class: "work" }, badge(g.class), " ", wild(g.reason || g.failure || g.group)), cell(wild(g.queue)),
      make("td", { class: "number" }, count(g.count)))));
  const rest = p.count - (p.groups ?? []).slice(0, samples).reduce((n, g) => n + g.count, 0);
  const to = p.destinations.length ? make("ul", { class: "plain" }, ...p.destinations.map((d) => make("li", {}, wild(d)))) : null;
  return [
    facts([
      ["Letters", make("b", {}, count(p.count))],
      ["To", redrive ? to : p.verb === "discard" ? "the trash, for seven days" : "where they were"],
      ["Rate", `${count(o.rate)} a second, so ${lasts(p.count / o.rate)}`],
      ["Canary", redrive ? (o.canary ? `${count(o.canary)} go first` : "none") : ""],
      ["Halt", redrive ? halts(o.halt_above) : ""],
      ["Reason", o.reason ? wild(o.reason) : ""],
      ["Plan", make("span", {}, p.id, ", until ", when(p.expires))],
    ]),
    p.warnings?.length ? make("div", { class: "warnings", role: "note", id: "plan-warnings" }, ...p.warnings.map((w) => make("p", {}, "▲ ", wild(w)))) : "",
    make("h3", {}, "Exactly those"), groups.whole,
    rest > 0 ? make("p", { class: "empty" }, `and ${count(rest)} in other groups`) : "",
    p.sample?.length ? make("details", {}, make("summary", {}, `The newest ${count(p.sample.length)}`), make("ul", { class: "plain" },
      ...p.sample.map((l) => make("li", {}, make("code", {}, l.id), ", died ", when(l.died), " ", wild(l.reason))))) : "",
  ];
}

// halts says in words when a task halts.
export const halts = (share) => (!share ? "at the first that fails again" : share >= 1 ? "never" : `when more than ${Math.round(share * 1000) / 10} % of those that ended failed again`);

function lasts(seconds) {
  if (seconds < 1) return "about a second";
  if (seconds < 90) return `about ${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `about ${Math.ceil(seconds / 60)} min` : `about ${Math.ceil(seconds / 3600)} h`;
}
