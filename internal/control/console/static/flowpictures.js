// Pictures of a run. They say nothing that is not in the table of tasks as well.

import { count, visible } from "./format.js";

const svg = (tag, attributes, ...children) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) if (value != null) e.setAttribute(name, String(value));
  e.append(...children);
  return e;
};

// words is a text that a task's author wrote, as a text node.
const words = (tag, attributes, text) => {
  const e = svg(tag, attributes);
  e.textContent = visible(String(text));
  return e;
};

const states = {
  SUCCESS: ["✔", "good"], RUNNING: ["▶", "lane"], READY: ["○", "lane"], RETRYING: ["↻", "wait"], SENSING: ["◔", "lane"], INTERRUPTED: ["◌", "wait"],
  DEAD_LETTER: ["✖", "bad"], HELD: ["‖", "wait"], FAILED: ["✗", "bad"], UPSTREAM_FAILED: ["⊗", "bad"], SKIPPED: ["↷", "soft"], CANCELLED: ["⊘", "soft"], PENDING: ["·", "soft"],
};

// shape is the sign of a state, and tone the class that colours it.
export const shape = (state) => states[state]?.[0] ?? "·";
export const tone = (state) => `state-${states[state]?.[1] ?? "soft"}`;

const clip = (text, n) => (text.length > n ? `${text.slice(0, n - 1)}…` : text);

// levels says how many tasks are before each one on the longest way to it. A pure
// function.
export function levels(tasks) {
  const byName = new Map(tasks.map((t) => [t.name, t])), found = new Map();
  const of = (name, seen) => {
    if (found.has(name)) return found.get(name);
    const t = byName.get(name);
    if (!t || seen.has(name)) return -1;
    seen.add(name);
    const level = Math.max(-1, ...(t.needs ?? []).map((n) => of(n, seen))) + 1;
    found.set(name, level);
    return level;
  };
  for (const t of tasks) of(t.name, new Set());
  return found;
}

export const most = 200; // tasks beyond which the graph is not drawn

// graph draws tasks from left to right. href says where each leads.
export function graph(tasks, chosen, href) {
  const level = levels(tasks), columns = [];
  for (const t of tasks) (columns[level.get(t.name)] ??= []).push(t);
  const wide = 170, high = 46, gapX = 50, gapY = 14, edge = 4;
  const rows = Math.max(...columns.map((c) => c.length)), total = rows * (high + gapY);
  const at = new Map();
  columns.forEach((column, x) => column.forEach((t, y) => {
    const space = total / column.length;
    at.set(t.name, { x: edge + x * (wide + gapX), y: edge + space * (y + .5) - (high + gapY) / 2 });
  }));
  const width = columns.length * (wide + gapX) - gapX + 2 * edge, height = total + 2 * edge;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `graph of ${count(tasks.length)} tasks` });
  for (const t of tasks) {
    for (const n of t.needs ?? []) {
      const a = at.get(n), b = at.get(t.name);
      if (!a) continue;
      const x1 = a.x + wide, y1 = a.y + high / 2, x2 = b.x, y2 = b.y + high / 2, bend = (x2 - x1) / 2;
      picture.append(svg("path", { class: "edge", d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` }));
    }
  }
  for (const t of tasks) {
    const { x, y } = at.get(t.name), say = `${t.name}: ${t.state}${t.why ? `, ${t.why}` : ""}`;
    const link = svg("a", { href: href(t), class: tone(t.state), "aria-label": visible(say), "aria-current": chosen === t.name ? "true" : null, "data-task": t.name, "data-focus": t.name },
      words("title", {}, say), svg("rect", { class: "box", x, y, width: wide, height: high, rx: t.each ? 14 : 5 }),
      words("text", { x: x + 9, y: y + 19 }, clip(t.name, 23)),
      words("text", { class: "word", x: x + 9, y: y + 36 }, `${shape(t.state)} ${t.state}${t.each ? ` · ${sum(t)}` : ""}`));
    picture.append(link);
  }
  return picture;
}

// sum is how many instances of a task are over. A pure function.
export function sum(t) {
  const all = Object.values(t.counts ?? {}).reduce((a, b) => a + b, 0);
  return `${count(t.counts?.SUCCESS ?? 0)} of ${count(all)}`;
}

const seconds = (ms) => (ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`);

// took is how long a task took, or takes so far. A pure function.
export function took(t, now) {
  const from = Date.parse(t.first);
  if (Number.isNaN(from)) return "";
  const to = Date.parse(t.ended);
  return seconds(Math.max(0, (Number.isNaN(to) ? now : to) - from));
}

// gantt draws when tasks ran.
export function gantt(run, wide, now) {
  const tasks = run.tasks.filter((t) => !Number.isNaN(Date.parse(t.first))).slice(0, most);
  if (tasks.length === 0) return null;
  const begin = Date.parse(run.created), ended = Date.parse(run.ended);
  const end = Math.max(Number.isNaN(ended) ? now : ended, begin + 100);
  const left = 170, right = 60, row = 22, top = 20, height = top + tasks.length * row + 4;
  const x = (ms) => left + ((ms - begin) / (end - begin)) * (wide - left - right);
  const picture = svg("svg", { viewBox: `0 0 ${wide} ${height}`, width: wide, height, role: "img", "aria-label": `when ${count(tasks.length)} tasks ran, over ${seconds(end - begin)}` });
  for (let i = 0; i <= 4; i++) {
    const ms = begin + ((end - begin) * i) / 4;
    picture.append(svg("path", { class: "grid", d: `M${x(ms)} ${top - 4}V${height}` }),
      words("text", { class: "tick", x: x(ms), y: 12, "text-anchor": i === 0 ? "start" : "middle" }, seconds(ms - begin)));
  }
  tasks.forEach((t, i) => {
    const y = top + i * row, to = Date.parse(t.ended), from = Date.parse(t.first);
    const bar = svg("g", { class: tone(t.state) }, words("title", {}, `${t.name}: ${t.state}, ${took(t, now)}`),
      svg("rect", { class: Number.isNaN(to) ? "bar open" : "bar", x: x(from), y: y + 3, width: Math.max(2, x(Number.isNaN(to) ? end : to) - x(from)), height: row - 7, rx: 2 }));
    picture.append(words("text", { x: 0, y: y + 15 }, `${shape(t.state)} ${clip(t.name, 22)}`), bar,
      words("text", { class: "tick", x: Math.min(x(Number.isNaN(to) ? end : to) + 5, wide - right + 8), y: y + 15 }, took(t, now)));
  });
  return picture;
}
