// The page of query guards: what queries were predicted to cost, whose they are,
// and what became of them. Callers and paths are what callers write.

import { call } from "./api.js";
import { byId, keep, make, put } from "./dom.js";
import { count, many, milliseconds, visible } from "./format.js";
import { hour, plot, units, verdicts } from "./guardpictures.js";
import { notes, sum } from "./guards.js";
import { alarm } from "./panic.js";
import { query, wild } from "./parts.js";
import { value } from "./topcallers.js";

const every = 2000, rows = 50;

let list = null, overrides = []; // null until the first answer
const parameters = new URLSearchParams(location.search);
const chosen = { route: parameters.get("route"), caller: parameters.get("caller") };

// choose looks at a route, or at a caller of it; the address says which.
function choose(change) {
  Object.assign(chosen, change);
  history.replaceState(null, "", `?${query(chosen)}`);
  show();
}

async function round() {
  const [guards, rules, fleets] = await Promise.all([
    call("GET", `/api/v1/guards?limit=${rows}`),
    call("GET", "/api/v1/overrides").catch(() => ({ overrides: [] })), // settings that do not change have none
    call("GET", "/api/v1/fleets"),
  ]);
  list = guards.guards;
  overrides = rules.overrides ?? [];
  alarm(fleets.fleets);
  show();
}

function show() {
  if (list === null) return; // a window may change its size before
  byId("begin").hidden = list.length > 0;
  for (const part of document.querySelectorAll(".guarded")) part.hidden = list.length === 0;
  if (list.length === 0) return;
  const g = list.find((g) => g.route === chosen.route) ?? list[0];
  routes(g);
  put(byId("guard-sum"), visible(sum(g)));
  const told = notes(g, overrides);
  if (byId("guard-notes").innerText !== told.map((n) => n.text).join("\n")) {
    byId("guard-notes").replaceChildren(...told.map((n) => make("li", { "data-tone": n.tone }, wild(n.text))));
  }
  const top = Math.max(...g.minutes);
  byId("hour").replaceChildren(hour(g.minutes, top), make("p", { class: "ends", "aria-hidden": "true" }, make("span", {}, "60 min ago"), make("span", {}, `highest ${units(top)}`), make("span", {}, "now")));
  callers(g);
  shapes(g);
}

function routes(g) {
  const select = byId("guard-route");
  const names = list.map((g) => g.route);
  if ([...select.options].map((o) => o.value).join("\n") !== names.join("\n")) {
    select.replaceChildren(...names.map((n) => make("option", { value: n }, visible(n))));
  }
  select.value = g.route;
  select.disabled = names.length === 1;
  select.dataset.one = String(names.length === 1);
}

const number = (text, more = {}) => make("td", { class: "number", ...more }, text);

function callers(g) {
  const all = g.callers ?? [];
  byId("callers-empty").hidden = all.length > 0;
  byId("verdict-keys").hidden = all.length === 0;
  const top = Math.max(...all.slice(0, 10).flatMap((c) => c.minutes ?? [0]), 0);
  order(byId("guard-caller-rows"), all, (c) => c.caller, (c) => make("tr", {},
    make("th", { scope: "row", class: "name" },
      make("button", { type: "button", class: "plain", "aria-label": `Shapes of ${c.caller || "anonymous"}`, click: () => choose({ route: g.route, caller: chosen.caller === c.caller ? null : c.caller }) }, wild(c.caller || "(anonymous)")),
      make("small"))), (row, c) => {
    row.setAttribute("aria-current", String(chosen.caller === c.caller));
    put(row.firstChild.lastChild, c.class ? visible(`class ${c.class}`) : "");
    row.replaceChildren(row.firstChild,
      make("td", {}, hour(c.minutes ?? [], top)), number(units(c.cost)), make("td", {}, verdicts(c)),
      ...[c.checked, c.rejected, c.capped, c.reported].map((n) => number(count(n))),
      make("td", {}, most(c.rules)), make("td", {}, make("code", {}, c.worst ?? "")));
  });
}

// most is the predictor with which a caller went beyond limits most often.
function most(rules) {
  const [first] = Object.entries(rules ?? {}).toSorted((a, b) => b[1] - a[1]);
  return first ? `${first[0]} (${count(first[1])})` : "–";
}

const took = (ns) => milliseconds((ns ?? 0) / 1e6);

function shapes(g) {
  const caller = (g.callers ?? []).find((c) => c.caller === chosen.caller);
  const own = new Map((caller?.shapes ?? []).map((s) => [s.shape, s]));
  const all = g.shapes ?? [], listed = caller ? all.filter((s) => own.has(s.shape)) : all;
  byId("shapes-of").hidden = byId("shapes-all").hidden = !caller;
  put(byId("shapes-of"), caller ? `of ${visible(caller.caller || "(anonymous)")}` : "");
  byId("shapes-empty").hidden = listed.length > 0;
  put(byId("shapes-empty"), caller ? "None of its shapes is among the worst." : "No query has come yet.");
  order(byId("guard-shape-rows"), listed, (s) => s.shape, (s) => make("tr", { id: `shape-${s.shape}` },
    make("th", { scope: "row", class: "name" }, make("code", {}, s.shape), make("small", { class: "masked" }), make("small"))), (row, s) => {
    row.dataset.kills = String(s.deaths > 0);
    const his = own.get(s.shape);
    put(row.firstChild.children[1], visible(s.query ?? ""));
    put(row.firstChild.lastChild, his ? `${many(his.queries, "time")}, ${units(his.cost)} units, ${count(his.rejected)} rejected` : "");
    row.replaceChildren(row.firstChild,
      ...[units(s.max_cost), s.observed ? took(s.took / s.observed) : "–", took(s.max_took), s.observed ? value("bytes", Math.round(s.bytes / s.observed)) : "–", count(s.checked), count(s.rejected)].map((t) => number(t)),
      number(count(s.deaths), { class: "number deaths" }), make("td", {}, held(s)), make("td", {}, s.mostly || "–"), make("td", { class: "name" }, beyond(s)));
  });
  const seen = all.filter((s) => s.observed > 0).length;
  put(byId("plot-sum"), seen ? `${many(seen, "shape")} of queries that were answered. A circle is larger the more there were; a cross has killed a worker; amber was beyond a limit. Shapes that were always rejected have no time and are only in the table.` : "No query has been answered yet.");
  const place = byId("plot");
  if (place.contains(document.activeElement)) return; // somebody goes from point to point
  place.replaceChildren(...(seen ? [plot(all, Math.max(300, place.clientWidth), (s) => own.has(s.shape))] : []));
}

// held says what the ledger holds against a shape.
const held = (s) => (s.verdict ? make("a", { href: "./#verdicts" }, wild(`${s.state} ${s.verdict}`)) : "–");

// beyond says which limit a shape broke, where, and where the rule is written.
const beyond = (s) => (s.predictor ? make("span", {}, wild(`${s.action} ${s.predictor} at ${s.path}`), make("small", {}, " ", wild(s.rule))) : "–");

// order makes rows mirror items in their order. A row that has the focus stays
// where it is; the others go around it.
function order(body, items, key, create, update) {
  keep(body, items, key, create, update);
  if (body.contains(document.activeElement)) return;
  const wanted = new Map(items.map((item, i) => [key(item), i]));
  const sorted = [...body.children].toSorted((a, b) => wanted.get(a.dataset.key) - wanted.get(b.dataset.key));
  if (sorted.some((row, i) => row !== body.children[i])) body.append(...sorted);
}

function notice(text) {
  put(byId("notice"), text);
  byId("notice").hidden = text === "";
}

async function run() {
  for (;;) {
    if (!document.hidden) {
      try {
        await round();
        notice("");
      } catch (error) {
        if (error.status === 404) {
          list = [];
          show();
        } else notice(error instanceof TypeError ? "No connection, trying again." : error.message);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, every));
  }
}

byId("guard-route").addEventListener("change", (e) => choose({ route: e.target.value, caller: null }));
addEventListener("resize", () => show());
byId("shapes-all").addEventListener("click", () => choose({ caller: null }));
run();
