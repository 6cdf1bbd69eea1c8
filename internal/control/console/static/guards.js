// Query guards in a few words: a line for each in the page of traffic, and what
// is unusual about one. Callers and paths are what callers write.

import { call } from "./api.js";
import { byId, make } from "./dom.js";
import { clock, count, left, many } from "./format.js";
import { units } from "./guardpictures.js";
import { query, wild } from "./parts.js";

// sum says in one line what a guard has done. A pure function.
export function sum(g) {
  const t = g.total, parts = [`${many(t.checked, "query", "queries")}: ${count(t.accepted)} accepted, ${count(t.reported)} reported, ${count(t.capped)} capped, ${count(t.rejected)} rejected; ${units(t.cost)} units`, `limits version ${g.version}${g.limits ? ` of ${g.limits}` : ""}`];
  if (g.report_only) parts.push("report only");
  if (g.dial !== 1) parts.push(`limits × ${g.dial}`);
  if (g.load > 0) parts.push(`pressure ${Math.round(100 * g.load)} %`);
  if (g.slow > 0) parts.push(many(g.slow, "slow query", "slow queries"));
  return `${parts.join(" · ")}.`;
}

// ofQueries says whether an override changes what guards do.
export const ofQueries = (o) => ["guard", "guard-limit", "guard-report"].includes(o.what);

// changes says what an override changes. A pure function.
export function changes(o) {
  switch (o.what) {
    case "deny": return "everything is refused";
    case "guard": return `limits of queries × ${o.factor}`;
    case "guard-limit": return `${o.predictor} ${o.value}${o.index ? ` on ${o.index}` : ""}`;
    case "guard-report": return "queries are only reported";
  }
  return `${o.what} ${o.factor ? `× ${o.factor}` : o.value}`;
}

// whom says for whom an override is. A pure function.
export const whom = (o) => ["caller", "class", "plan", "route"].filter((w) => o[w]).map((w) => `${w} ${o[w]}`).join(", ") || "everybody";

const old = (time) => (new Date(time).getFullYear() < 1990 ? "of unknown age" : left(time).replace(" ago", " old").replace("in 0 s", "0 s old"));

// notes are what is unusual about a guard, and how old its hints are.
export function notes(g, overrides) {
  const out = [];
  for (const f of g.faults ?? []) out.push({ tone: "bad", text: `✖ broken since ${clock(f.since)}, the previous limits stay in force: ${f.error}` });
  if (g.poll?.error) out.push({ tone: "bad", text: `✖ the backend gives no hints, ${many(g.poll.failures, "failure")} in a row: ${g.poll.error}` });
  for (const o of overrides) {
    if (ofQueries(o) && (!o.route || o.route === g.route)) out.push({ tone: "wait", text: `◔ ${changes(o)} for ${whom(o)}, until ${clock(o.until)}, by ${o.by}${o.reason ? `: ${o.reason}` : ""}` });
  }
  const hints = (g.hints ?? []).map((h) => `${h.source === "file" ? g.hints_file : h.source} ${old(h.at)} (${many(h.indices, "index", "indices")}, ${many(h.fields, "field")})`);
  out.push({ tone: "", text: hints.length ? `Hints: ${hints.join(", ")}` : "No hints: costs that depend on the data are assumed." });
  return out;
}

export async function guards() {
  const { guards: list } = await call("GET", "/api/v1/guards?limit=1");
  byId("guards-empty").hidden = list.length > 0;
  byId("guards-sum").replaceChildren(...list.map((g) => make("p", { class: "soft" },
    make("a", { href: `guards?${query({ route: g.route })}` }, wild(g.route)), ` ${g.kind}. `, wild(sum(g)),
    ...(g.faults?.length ? [make("strong", { class: "wrong" }, " ✖ a file is broken")] : []))));
}
