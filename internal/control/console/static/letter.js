// One dead letter with all there is.

import { call } from "./api.js";
import { facts, make } from "./dom.js";
import { count, many, visible } from "./format.js";
import { badge, button, cell, link, row, table, trash, when, wild } from "./parts.js";
import { body, decode, hex, part } from "./body.js";
import { plan } from "./order.js";

const long = 2048; // of an attribute, shown until somebody asks for all

export async function letter(context) {
  const id = context.parameters.get("id") ?? "";
  const l = await call("GET", `/api/v1/dead/letters/${encodeURIComponent(id)}`);
  return {
    title: "Letter",
    content: [
      make("p", { class: "lead" }, badge(l.class), " ", wild(l.reason || l.failure || "no reason was given")),
      make("p", { class: "summary" }, ...verbs(l, context)),
      head(l),
      make("h3", {}, "Body"), ...body(l.body),
      ...attributes("Attributes", l.attributes), ...attributes("System attributes", l.system_attributes),
      ...attempts(l.attempts),
    ],
    watch: async () => {
      const now = await call("GET", `/api/v1/dead/letters/${encodeURIComponent(id)}`);
      return now.version === l.version && now.queue === l.queue ? 0 : 1;
    },
  };
}

function verbs(l, context) {
  if (l.queue === trash) {
    return [button("Restore …", () => plan(context, { verb: "restore", selection: { queue: trash, ids: [l.id] }, options: {} }), { id: "restore" })];
  }
  const of = { queue: l.queue, id: [l.id] };
  return [
    l.queue.includes(":") ? null : link("Edit and redrive …", { view: "edit", id: l.id }, { class: "button", id: "edit" }),
    link("Redrive …", { view: "order", verb: "redrive", ...of }, { class: "button" }),
    link("Discard …", { view: "order", verb: "discard", ...of }, { class: "button" }),
    link("Letters like this", { view: "letters", queue: l.queue, group: l.group }),
  ].filter(Boolean).flatMap((e) => [e, " "]);
}

function head(l) {
  const lineage = l.lineage, gone = l.discarded;
  return facts([
    ["Id", make("code", {}, wild(l.id))],
    ["Queue", l.queue === trash ? "the trash" : wild(l.queue)],
    ["Origin", l.origin ? wild(l.origin) : ""],
    ["Group", wild(l.group)],
    ["Failure", l.failure ? wild(l.failure) : ""],
    ["Died", when(l.died)],
    ["Sent", l.sent ? when(l.sent) : ""],
    ["Receives", count(l.receives)],
    ["Payload", l.payload ?? ""],
    ["In order with", l.message_group ? wild(l.message_group) : ""],
    ["Priority", l.priority || ""],
    ["Sender", l.sender ? wild(l.sender) : ""],
    ["Now", l.in_flight ? "somebody has received it" : ""],
    ["Sent again", lineage ? `${many(lineage.times, "time")}${lineage.edited ? ", edited" : ""}` : ""],
    ["Child of", lineage ? link(lineage.parent, { view: "letter", id: lineage.parent }) : ""],
    ["First was", lineage && lineage.root !== lineage.parent ? link(lineage.root, { view: "letter", id: lineage.root }) : ""],
    ["By task", lineage?.task ? link(lineage.task, { view: "task", id: lineage.task }) : ""],
    ["Discarded", gone ? make("span", {}, when(gone.at), " from ", wild(gone.from)) : ""],
    ["Replaced by", gone?.into ? wild(gone.into) : ""],
  ]);
}

function attributes(name, of) {
  const list = Object.entries(of ?? {}).sort();
  if (!list.length) return [];
  const { whole } = table(name, ["Name", "Type", "Value"], list.map(([n, a]) =>
    row("", make("th", { scope: "row" }, wild(n)), cell(wild(a.type)),
      make("td", { class: "work" }, ...value(n, a)))));
  return [make("h3", {}, name), whole];
}

function value(name, a) {
  if (a.masked) return [make("em", {}, "a secret, not shown")];
  if (a.binary) return part(visible(name), decode(a.binary), hex, long);
  return a.value?.length > long ? part(visible(name), a.value, visible, long) : [wild(a.value)];
}

function attempts(list) {
  if (!list?.length) return [];
  const { whole } = table("Attempts", ["Received", "Lasted", "Worker", "What failed"], list.map((a) => {
    const ms = new Date(a.ended) - new Date(a.received);
    return row("", cell(when(a.received)), cell(Number.isFinite(ms) && ms >= 0 ? `${count(Math.round(ms))} ms` : "–"), cell(wild(a.worker || "–")),
      make("td", { class: "work said" }, badge(a.class), " ", a.life ? make("small", {}, `life ${count(a.life)} `) : null, wild(a.reason), a.detail && a.detail !== a.reason ? make("small", {}, wild(a.detail)) : null,
        ...(a.stderr ? part("its last lines", a.stderr, visible, long) : []), a.failure ? make("small", {}, wild(a.failure)) : null));
  }));
  return [make("h3", {}, `Attempts (${count(list.length)})`), whole];
}
