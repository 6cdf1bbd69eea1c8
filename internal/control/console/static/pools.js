// The pools of fleets: how many requests each has at once, against its limit,
// over the last minutes that this page was open.

import { byId, keep, make, put } from "./dom.js";
import { count, milliseconds, visible } from "./format.js";

const most = 300; // points kept of each line: 5 minutes
const wide = 300, high = 100;

// path draws a line of values, the newest on the right. A pure function.
export function path(values, top, slots = most) {
  const step = wide / (slots - 1), start = wide - step * (values.length - 1);
  return values.map((v, i) => `${i ? "L" : "M"}${(start + i * step).toFixed(1)} ${(high - (Math.min(v, top) / top) * (high - 4)).toFixed(1)}`).join("");
}

// duration reads one of the API's, such as "1m2.5s", in milliseconds.
export function duration(text) {
  const units = { h: 3.6e6, m: 6e4, s: 1e3, ms: 1, "µs": 1e-3, ns: 1e-6 };
  let sum = 0;
  for (const [, n, unit] of (text ?? "").matchAll(/([\d.]+)(ms|µs|ns|h|m|s)/g)) sum += Number(n) * units[unit];
  return sum;
}

const kinds = [["limit", "limit"], ["in-flight", "in flight"], ["queued", "waiting"]];

export class Pools {
  #lines = new Map(); // by fleet: the values of each line

  show(fleets) {
    const pools = fleets.filter((f) => f.pool);
    for (const name of this.#lines.keys()) if (!pools.some((f) => f.name === name)) this.#lines.delete(name);
    byId("pools-empty").hidden = pools.length > 0;
    keep(byId("pools"), pools, (f) => f.name, (f) => draw(f.name), (e, f) => this.#update(e, f));
  }

  #update(element, { name, pool }) {
    if (!this.#lines.has(name)) this.#lines.set(name, { limit: [], "in-flight": [], queued: [] });
    const lines = this.#lines.get(name), now = { limit: pool.limit, "in-flight": pool.in_flight, queued: pool.queued };
    for (const [kind] of kinds) {
      lines[kind].push(now[kind]);
      if (lines[kind].length > most) lines[kind].shift();
    }
    const top = Math.max(1, ...kinds.flatMap(([kind]) => lines[kind]));
    const [head, chart, keys, text] = element.children;
    for (const [kind, word] of kinds) {
      chart.querySelector(`.${kind}`).setAttribute("d", path(lines[kind], top));
      put(keys.querySelector(`.${kind}`), `${word} ${count(now[kind])}`);
    }
    const shedding = pool.pressure > 1;
    element.dataset.shedding = String(shedding);
    put(head.lastChild, shedding ? "✖ refusing" : `${Math.round(100 * pool.pressure)} % used`);
    chart.setAttribute("aria-label", `${name}: ${now["in-flight"]} in flight of ${now.limit}, ${now.queued} waiting; at most ${top} lately`);
    const shed = pool.classes.reduce((n, c) => n + c.shed, 0), admitted = pool.classes.reduce((n, c) => n + c.admitted, 0);
    const worst = pool.classes.filter((c) => c.shed > 0).map((c) => `${visible(c.priority)} ${count(c.shed)}`).join(", ");
    put(text, [
      pool.adaptive ? "adaptive limit" : "fixed limit",
      duration(pool.latency) ? `latency ${milliseconds(duration(pool.latency))}${duration(pool.normal) ? `, normal ${milliseconds(duration(pool.normal))}` : ""}` : "",
      `${count(admitted)} let in, ${count(shed)} refused${worst ? ` (${worst})` : ""}`,
    ].filter(Boolean).join(" · "));
  }
}

function draw(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "chart");
  svg.setAttribute("viewBox", `0 0 ${wide} ${high + 2}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  for (const kind of ["ground", ...kinds.map(([k]) => k)]) {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    line.setAttribute("class", kind);
    if (kind === "ground") line.setAttribute("d", `M0 ${high}H${wide}`);
    svg.append(line);
  }
  return make("article", { class: "pool" },
    make("h3", {}, make("bdi", {}, visible(name)), make("span")), svg,
    make("p", { class: "keys", "aria-hidden": "true" }, ...kinds.map(([kind]) => make("span", { class: kind }))), make("p"));
}
