// Query guards: what their routes' queries were predicted to cost, and what
// they did. Callers and paths are what callers write.

import { call } from "./api.js";
import { byId, make, put } from "./dom.js";
import { count, many, milliseconds } from "./format.js";
import { wild } from "./parts.js";

const rows = 10; // of callers and of shapes

// units writes a cost. A pure function.
export const units = (n) => (n < 1e6 ? count(Math.round(n)) : n.toExponential(1));

// sum says in one line what a guard has done. A pure function.
export function sum(g) {
  const t = g.total, parts = [`${many(t.checked, "query").replace("querys", "queries")}: ${count(t.accepted)} accepted, ${count(t.reported)} reported, ${count(t.capped)} lowered, ${count(t.rejected)} rejected; ${units(t.cost)} units`, `limits version ${g.version}`];
  if (g.report_only) parts.push("report only");
  if (g.dial !== 1) parts.push(`limits × ${g.dial}`);
  if (g.load > 0) parts.push(`pressure ${Math.round(100 * g.load)} %`);
  if (g.poll?.error) parts.push(`the backend does not tell hints: ${g.poll.error}`);
  else if (g.poll) parts.push(`hints of ${many(g.poll.indices, "index").replace("indexs", "indices")}`);
  return `${parts.join(" · ")}.`;
}

const took = (ns) => milliseconds((ns ?? 0) / 1e6);

export async function guards() {
  const { guards: list } = await call("GET", `/api/v1/guards?limit=${rows}`);
  byId("guards-empty").hidden = list.length > 0;
  put(byId("guards-sum"), "");
  byId("guards-sum").replaceChildren(...list.map((g) => make("p", { class: "soft" }, wild(g.route), ` ${g.kind}. `, wild(sum(g)))));
  for (const [id, name] of [["guard-callers", "callers"], ["guard-shapes", "shapes"]]) {
    byId(id).hidden = !list.some((g) => g[name]?.length);
  }
  byId("guard-caller-rows").replaceChildren(...list.flatMap((g) => (g.callers ?? []).map((c) => make("tr", {},
    make("th", { scope: "row", class: "name" }, wild(c.caller), make("small", {}, wild(g.route))),
    ...[units(c.cost), count(c.checked), count(c.rejected), count(c.capped), count(c.reported)].map(number),
    make("td", {}, most(c.rules)), make("td", {}, make("code", {}, c.worst ?? ""))))));
  byId("guard-shape-rows").replaceChildren(...list.flatMap((g) => (g.shapes ?? []).map((s) => make("tr", { "data-kills": s.deaths > 0 },
    make("th", { scope: "row", class: "name" }, make("code", {}, s.shape), make("small", {}, wild(g.route))),
    ...[units(s.max_cost), s.observed ? took(s.took / s.observed) : "–", took(s.max_took), count(s.checked), count(s.deaths)].map(number),
    make("td", {}, s.predictor ?? "–"), make("td", { class: "name" }, wild(s.path || "–"))))));
}

const number = (text) => make("td", { class: "number" }, text);

// most is the predictor with which a caller went beyond limits most often.
function most(rules) {
  const [first] = Object.entries(rules ?? {}).sort((a, b) => b[1] - a[1]);
  return first ? `${first[0]} (${count(first[1])})` : "–";
}
