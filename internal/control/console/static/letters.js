// Lists of dead letters and of the trash. No list has a body in it.

import { call } from "./api.js";
import { make } from "./dom.js";
import { count } from "./format.js";
import { badge, button, cell, link, none, query, row, table, trash, when, wild } from "./parts.js";
import { plan } from "./order.js";
import { asSelection, chosen, filter } from "./selection.js";

const page = 100, kept = 7 * 24 * 3600 * 1000; // as long as the trash keeps a letter
const heads = [{ text: "Choose", hidden: true }, "Letter", "What failed", "Queue", "Died", { text: "Receives", number: true }, { text: "Sent again", number: true }];

export const letters = (context) => show(context, {
  title: "Letters", view: "letters", selection: chosen(context.parameters), heads, last: () => [], verbs: ["redrive", "discard"],
});

export const discarded = (context) => show(context, {
  title: "Trash", view: "trash", selection: { ...chosen(context.parameters), queue: trash },
  heads: [...heads, "Gone for good"], verbs: ["restore"],
  last: (l) => {
    const d = l.discarded;
    return [cell(d ? when(new Date(d.at).getTime() + kept) : "–", d?.into ? make("small", {}, "replaced by ", wild(d.into)) : null)];
  },
});

async function show(context, kind) {
  const { go, say } = context, { selection } = kind;
  const path = (more) => `/api/v1/dead/letters?${query({ ...selection, limit: page, ...more })}`;
  const first = await call("GET", path({}));
  const picked = new Set();
  const whole = Object.keys(without(selection, "queue")).length === 0 && (kind.view === "trash" || !selection.queue);
  const { body, whole: list } = table(kind.title, kind.heads, []);
  const bar = make("p", { class: "summary" });
  const more = button("Show more", async () => {
    await context.act("show more", async () => add(await call("GET", path({ cursor: more.dataset.cursor }))));
  }, { id: "more" });
  const known = new Set();
  let newest = first.letters[0]?.died;

  const picks = () => {
    const chosenNow = picked.size > 0;
    bar.replaceChildren(chosenNow ? `${count(picked.size)} chosen. ` : "", ...kind.verbs.map((verb) =>
      button(`${verb[0].toUpperCase()}${verb.slice(1)} ${chosenNow ? "those" : whole ? "all" : "all of this filter"} …`, () => {
        const s = chosenNow ? { queue: kind.view === "trash" ? trash : "", id: [...picked] } : selection;
        if (verb === "restore") return plan(context, { verb, selection: asSelection(s), options: {} });
        return go(`?${query({ view: "order", verb, ...s })}`);
      }, { class: "quiet" })));
  };
  const add = ({ letters: found, next }) => {
    for (const l of found) {
      if (known.has(l.id)) continue;
      known.add(l.id);
      body.append(line(l, kind, picked, picks));
    }
    more.dataset.cursor = next ?? "";
    more.hidden = !next;
    if (known.size > page) say(`${count(known.size)} letters are shown`);
  };
  add(first);
  picks();
  return {
    title: kind.title,
    content: [
      await filter(kind.view, kind.view === "trash" ? without(selection, "queue") : selection, go),
      known.size ? bar : null,
      known.size ? list : none(kind.view === "trash" ? "The trash is empty." : "No letter matches."), more,
    ],
    watch: async () => {
      const since = newest && kind.view !== "trash" ? { after: newest } : {};
      const now = await call("GET", path(since));
      return now.letters.filter((l) => !known.has(l.id)).length;
    },
  };
}

const without = (s, name) => Object.fromEntries(Object.entries(s).filter(([k]) => k !== name));

function line(l, kind, picked, changed) {
  const box = make("input", { type: "checkbox", "aria-label": `Choose letter ${l.id}`, change: (e) => {
    if (e.target.checked) picked.add(l.id);
    else picked.delete(l.id);
    changed();
  } });
  return row(l.id, cell(box),
    make("th", { scope: "row", class: "id" }, link(l.id, { view: "letter", id: l.id })),
    make("td", { class: "work" }, badge(l.class), " ", wild(l.reason || l.failure)),
    cell(wild(kind.view === "trash" ? l.discarded?.from ?? "" : l.queue), l.origin ? make("small", {}, "from ", wild(l.origin)) : null),
    cell(when(l.died), l.in_flight ? make("small", {}, "somebody has it") : null),
    make("td", { class: "number" }, count(l.receives)),
    make("td", { class: "number" }, l.lineage ? `↻ ${count(l.lineage.times)}` : "–"), ...kind.last(l));
}
