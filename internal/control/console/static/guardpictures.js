// Pictures of what queries cost. They say nothing that is not beside them in
// words as well.

import { count, many, milliseconds } from "./format.js";

const svg = (tag, attributes, ...children) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, String(value));
  e.append(...children);
  return e;
};

// units writes a cost. A pure function.
export const units = (n) => (n > 0 && n < 10 ? String(Math.round(n * 10) / 10) : n < 1e6 ? count(Math.round(n)) : n.toExponential(1));

// hour draws units by the minute, the newest on the right; top is what the
// highest bar would be.
export function hour(minutes, top) {
  const high = 40, all = minutes.reduce((a, b) => a + b, 0), most = Math.max(0, ...minutes);
  const text = `${units(all)} units in the last hour, ${units(minutes.at(-1) ?? 0)} in this minute, at most ${units(most)} in one`;
  const picture = svg("svg", { class: "minutes", viewBox: `0 0 ${minutes.length * 4} ${high + 1}`, preserveAspectRatio: "none", role: "img", "aria-label": text });
  const title = svg("title", {});
  title.textContent = text;
  picture.append(title, svg("path", { class: "ground", d: `M0 ${high + .5}H${minutes.length * 4}` }));
  minutes.forEach((n, i) => {
    const tall = n > 0 ? Math.max(1.5, (n / (top || 1)) * high) : 0;
    if (tall) picture.append(svg("rect", { x: i * 4, y: high - tall, width: 3, height: tall }));
  });
  return picture;
}

export const kinds = [["accept", "accepted"], ["report", "reported"], ["cap", "capped"], ["reject", "rejected"]];

// verdicts draws what became of a caller's queries, as parts of all of them.
export function verdicts(tally) {
  const text = kinds.map(([, key]) => `${count(tally[key])} ${key}`).join(", ");
  const picture = svg("svg", { class: "verdicts", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": text });
  const title = svg("title", {});
  title.textContent = text;
  picture.append(title);
  let from = 0;
  for (const [kind, key] of kinds) {
    const wide = (100 * tally[key]) / (tally.checked || 1);
    if (wide > 0) picture.append(svg("rect", { class: kind, x: from, y: 0, width: Math.max(wide, .8), height: 10 }));
    from += wide;
  }
  return picture;
}

// decades is the powers of ten around values. A pure function.
export function decades(values) {
  const logs = values.filter((v) => v > 0).map(Math.log10);
  if (logs.length === 0) return [0, 1];
  const low = Math.floor(Math.min(...logs)), high = Math.ceil(Math.max(...logs));
  return [low, high > low ? high : low + 1];
}

// time writes milliseconds, and what is less. A pure function.
const time = (ms) => (ms < 1 ? `${Number((ms * 1000).toPrecision(2))} µs` : milliseconds(ms).replace(/[.]0+ /, " "));

const power = (n) => (n < 0 && n > -4 ? String(10 ** n) : n >= 0 && n < 7 ? count(10 ** n) : `10^${n}`);

// plot draws shapes by what was predicted and how long they took, both in powers
// of ten. wanted says which belong to the caller that is looked at.
export function plot(shapes, wide, wanted) {
  const seen = shapes.filter((s) => s.observed > 0);
  const left = 58, right = 12, top = 10, bottom = 38, high = 300;
  const took = (s) => Math.max(s.took / s.observed / 1e6, .01);
  const xs = decades(seen.map((s) => s.max_cost)), ys = decades(seen.map(took));
  const x = (v) => left + ((Math.log10(v) - xs[0]) / (xs[1] - xs[0])) * (wide - left - right);
  const y = (v) => high - bottom - ((Math.log10(v) - ys[0]) / (ys[1] - ys[0])) * (high - bottom - top);
  const picture = svg("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "group", "aria-label": `${seen.length} shapes by predicted cost and time` });
  const text = (at, words, more = {}) => {
    const t = svg("text", { ...at, ...more });
    t.textContent = words;
    picture.append(t);
  };
  for (let n = xs[0]; n <= xs[1]; n++) {
    picture.append(svg("path", { class: "grid", d: `M${x(10 ** n)} ${top}V${high - bottom}` }));
    text({ x: x(10 ** n), y: high - bottom + 15 }, power(n), { "text-anchor": n === xs[1] ? "end" : "middle" });
  }
  for (let n = ys[0]; n <= ys[1]; n++) {
    picture.append(svg("path", { class: "grid", d: `M${left} ${y(10 ** n)}H${wide - right}` }));
    text({ x: left - 6, y: y(10 ** n) + 4 }, time(10 ** n), { "text-anchor": "end" });
  }
  text({ x: (left + wide) / 2, y: high - 6 }, "units predicted", { "text-anchor": "middle" });
  const names = [];
  seen.toSorted((a, b) => b.deaths - a.deaths || took(b) - took(a)).forEach((s, i) => {
    const cx = x(s.max_cost), cy = y(took(s));
    picture.append(mark(s, cx, cy, took(s), wanted(s)));
    const clear = names.every(([nx, ny]) => Math.abs(nx - cx) > 66 || Math.abs(ny - cy) > 13);
    if (i >= 12 || !clear) return;
    names.push([cx, cy]);
    const before = cx > wide - 90;
    text({ x: before ? cx - 9 : cx + 9, y: cy + 4 }, s.shape.slice(0, 6), { class: "name", "text-anchor": before ? "end" : "start" });
  });
  return picture;
}

// mark is one shape: a circle, or a cross when it has killed.
function mark(s, cx, cy, ms, of) {
  const words = `${s.shape}: ${units(s.max_cost)} units, ${time(ms)}, ${many(s.checked, "query", "queries")}${s.deaths ? `, ${many(s.deaths, "death")}` : ""}${s.mostly ? `, mostly ${s.mostly}` : ""}`;
  const title = svg("title", {});
  title.textContent = words;
  const link = svg("a", { href: `#shape-${s.shape}`, "aria-label": words, class: `${s.deaths > 0 ? "kills" : s.predictor ? "beyond" : ""} ${of ? "of" : ""}`.trim() });
  const r = Math.min(4 + Math.log10(s.checked + 1) * 2, 12);
  link.append(title, s.deaths > 0
    ? svg("path", { class: "dot-mark", d: `M${cx - r} ${cy - r}L${cx + r} ${cy + r}M${cx - r} ${cy + r}L${cx + r} ${cy - r}` })
    : svg("circle", { class: "dot-mark", cx, cy, r }));
  return link;
}
