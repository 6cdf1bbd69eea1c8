// Dead letters by what failed.

import { call } from "./api.js";
import { make, put } from "./dom.js";
import { count, many } from "./format.js";
import { actions, badge, cell, fresh, link, none, query, row, spark, table, when, wild } from "./parts.js";
import { chosen, filter } from "./selection.js";

const heads = ["What failed", { text: "Letters", number: true }, "24 hours", "First", "Last", "Queue",
  { text: "Again after redrive", number: true }, { text: "Actions", hidden: true }];
const most = 500; // groups

const keyOf = (g) => `${g.queue}\n${g.group}`;

export async function groups({ parameters, go }) {
  const selection = chosen(parameters);
  const read = async () => (await call("GET", `/api/v1/dead/groups?${query({ ...selection, limit: most })}`)).groups;
  const list = await read();
  const { body, whole } = table("Groups of dead letters", heads, list.map(line));
  const all = list.reduce((n, g) => n + g.count, 0);
  return {
    title: "Dead letters",
    content: [
      await filter("groups", selection, go),
      summary(list, all, selection),
      list.length ? whole : none("No letter matches."),
    ],
    watch: async () => fresh(body, await read(), keyOf, update),
  };
}

function summary(list, all, selection) {
  if (!list.length) return null;
  return make("p", { class: "summary" }, `${many(all, "letter")} in ${many(list.length, "group")}${list.length === most ? ", the newest" : ""}. `,
    link("Show the letters", { view: "letters", ...selection }), " ",
    link("Redrive them all …", { view: "order", verb: "redrive", ...selection }), " ",
    link("Discard them all …", { view: "order", verb: "discard", ...selection }));
}

function line(g) {
  const of = { queue: g.queue, group: g.group };
  const cause = wild(g.reason || g.failure || "no reason was given");
  const r = row(keyOf(g),
    make("th", { scope: "row", class: "work" }, badge(g.class), " ", cause, make("small", {}, wild(g.group))),
    make("td", { class: "number" }, link("", { view: "letters", ...of })),
    cell(), cell(when(g.first)), cell(),
    cell(wild(g.queue), make("small", {}, "from ", wild(g.origin))),
    make("td", { class: "number" }),
    actions(
      link("Redrive …", { view: "order", verb: "redrive", ...of }, { class: "button", "aria-label": `Redrive ${cause.textContent}` }),
      link("Discard …", { view: "order", verb: "discard", ...of }, { class: "button", "aria-label": `Discard ${cause.textContent}` })));
  update(r, g);
  return r;
}

function update(r, g) {
  const [, n, hours, , last, , again] = r.children;
  put(n.firstChild, count(g.count));
  n.firstChild.setAttribute("aria-label", many(g.count, "letter"));
  if (hours.dataset.of !== String(g.hours)) {
    hours.dataset.of = String(g.hours);
    hours.replaceChildren(spark(g.hours));
  }
  if (last.dataset.of !== g.last) {
    last.dataset.of = g.last;
    last.replaceChildren(when(g.last));
  }
  put(again, g.redriven ? `↻ ${count(g.redriven)}` : "–");
}
