// The audit log: who did what, and what became of it.

import { call } from "./api.js";
import { make } from "./dom.js";
import { count, many } from "./format.js";
import { button, cell, none, query, row, table, trash, when, wild } from "./parts.js";

const page = 100;

export async function audit({ act }) {
  const read = async (before) => (await call("GET", `/api/v1/audit?${query({ limit: page, before })}`)).entries;
  const first = await read();
  const newest = first[0]?.number ?? 0;
  const { body, whole } = table("Audit log", ["When", "Who", "What", "On what", "How", "Outcome"], first.map(line));
  const older = button("Show older", () => act("show older", async () => {
    const entries = await read(body.lastChild.dataset.key);
    body.append(...entries.map(line));
    older.hidden = entries.length < page;
  }), { id: "more", hidden: first.length < page });
  return {
    title: "Audit log",
    content: [first.length ? whole : none("Nobody has done anything yet."), older],
    watch: async () => (await read()).filter((e) => e.number > newest).length,
  };
}

function line(e) {
  return row(e.number, cell(when(e.at)), cell(wild(e.actor)), make("th", { scope: "row" }, wild(e.action)),
    make("td", { class: "work" }, e.object ? wild(e.object === trash ? "the trash" : e.object) : "–"),
    make("td", { class: "work" }, how(e.detail ?? {})),
    make("td", { class: "work" }, e.error ? make("span", { class: "wrong" }, "✖ ", wild(e.error)) : outcome(e.detail ?? {})));
}

function how(d) {
  const s = d.selection ?? {}, o = d.options ?? {};
  return wild([
    d.fleet ? `fleet ${d.fleet}` : "", d.work ?? "", d.for ? `for ${d.for}` : "", d.reason ? `because: ${d.reason}` : "",
    d.messages != null ? `it held ${many(d.messages, "message")}` : "",
    d.planned != null ? many(d.planned, "letter") : "",
    s.queue ? `in ${s.queue === trash ? "the trash" : s.queue}` : "", s.origin ? `from ${s.origin}` : "", s.class ? `of class ${s.class}` : "",
    s.groups?.length ? many(s.groups.length, "group") : "", s.ids?.length ? `${count(s.ids.length)} chosen` : "",
    o.destination ? `to ${o.destination}` : "", o.rate ? `${count(o.rate)} a second` : "", o.reason ? `because: ${o.reason}` : "",
  ].filter(Boolean).join(", ") || "–");
}

function outcome(d) {
  return wild([
    d.outcome ?? "", d.actual != null ? `${count(d.actual)} moved` : "", d.failed_again ? `${count(d.failed_again)} failed again` : "",
    d.into ? `replaced by ${d.into}` : "", d.tasks?.length ? d.tasks.join(" ") : "",
  ].filter(Boolean).join(", ") || "✓ done");
}
