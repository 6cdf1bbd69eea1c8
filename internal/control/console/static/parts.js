// What several views of the queues' pages are made of.

import { make } from "./dom.js";
import { count, left, visible } from "./format.js";

// wild is text that somebody else wrote: no control character of it works, and
// its direction stays its own.
export const wild = (text) => make("bdi", {}, visible(String(text ?? "")));

export const trash = ".trash"; // the queue of discarded letters

// query writes parameters, of which an array is several of one name.
export function query(parameters) {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const v of [value].flat()) if (v !== "" && v != null) q.append(name, v);
  }
  return q.toString();
}

export const link = (text, parameters, attributes = {}) =>
  make("a", { href: `?${query(parameters)}`, ...attributes }, text instanceof Node ? text : visible(String(text)));

export const button = (text, click, attributes = {}) => make("button", { type: "button", class: "quiet", click, ...attributes }, text);

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

// when is a time here, and where nobody is.
export function when(time) {
  const at = new Date(time);
  if (Number.isNaN(at.getTime()) || at.getFullYear() < 1990) return make("span", {}, "–");
  const date = at.toDateString() === new Date().toDateString() ? "" : `${day.format(at)} `;
  return make("time", { datetime: at.toISOString(), title: `${at.toISOString()}, ${left(at)}` }, date + at.toLocaleTimeString("en-GB"));
}

const signs = {
  crash: ["✖", "bad"], oom: ["▣", "bad"], timeout: ["◔", "bad"], bug: ["◆", "pill"], invalid: ["▲", "pill"],
  outage: ["‖", "lane"], throttled: ["‖", "lane"], transient: ["↻", "lane"],
  ok: ["●", "good"], paused: ["‖", "wait"], trying: ["◔", "lane"], open: ["○", "bad"], "half-open": ["◔", "lane"], closed: ["●", "good"],
  degraded: ["▲", "wait"], panic: ["✖", "bad"], down: ["✖", "bad"], firing: ["▲", "bad"], letters: ["◆", "pill"], stopped: ["■", "bad"],
  running: ["▶", "good"], halted: ["■", "bad"], completed: ["✓", "good"], cancelled: ["□", ""], failed: ["✖", "bad"],
};

export const classes = ["crash", "oom", "timeout", "invalid", "bug", "transient", "throttled", "outage", "interrupted", "spawn-failed"];

// badge says a class or a state: as a word, by a shape, and last by a colour.
export function badge(word) {
  const b = make("span", { class: "badge sign" });
  mark(b, word);
  return b;
}

// mark changes what a badge says.
export function mark(b, word) {
  if (b.dataset.word === word) return;
  const [sign, tone] = signs[word] ?? ["·", ""];
  Object.assign(b.dataset, { word, sign, tone });
  b.textContent = visible(word);
}

// table makes a table of rows of cells. A head is a text, or {text, number}.
export function table(name, heads, rows) {
  const body = make("tbody", {}, ...rows);
  const head = heads.map((h) => make("th", { scope: "col", class: h.number ? "number" : null },
    h.hidden ? make("span", { class: "visually-hidden" }, h.text) : h.text ?? h));
  return {
    body,
    whole: make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name },
      make("table", {}, make("thead", {}, make("tr", {}, ...head)), body)),
  };
}

export const row = (key, ...cells) => make("tr", { "data-key": key }, ...cells);
export const cell = (...content) => make("td", {}, ...content);
export const number = (n) => make("td", { class: "number" }, count(n));
export const actions = (...buttons) => make("td", { class: "actions-cell" }, ...buttons);
export const none = (text) => make("p", { class: "empty" }, text);

// fresh updates the rows that are still there, says which are not, moves none,
// and returns how many there are beside them.
export function fresh(body, items, key, update) {
  const byKey = new Map(items.map((i) => [key(i), i]));
  for (const r of body.children) {
    const item = byKey.get(r.dataset.key);
    r.classList.toggle("gone", !item);
    if (item) update(r, item);
    byKey.delete(r.dataset.key);
  }
  return byKey.size;
}

const svg = (tag, attributes) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, String(value));
  return e;
};

// spark draws deaths an hour, the last hour on the right.
export function spark(hours) {
  const most = Math.max(1, ...hours), all = hours.reduce((a, b) => a + b, 0);
  const text = `${count(all)} in 24 h, ${count(hours.at(-1))} in the last hour, at most ${count(Math.max(0, ...hours))} in one`;
  const picture = svg("svg", { class: "spark", viewBox: "0 0 96 20", width: 96, height: 20, role: "img", "aria-label": text });
  const title = svg("title", {});
  title.textContent = text;
  picture.append(title, svg("path", { class: "ground", d: "M0 19.5H96" }));
  hours.forEach((n, i) => {
    const high = n === 0 ? 0 : Math.max(2, (18 * n) / most);
    if (high) picture.append(svg("rect", { x: i * 4, y: 19 - high, width: 3, height: high }));
  });
  return picture;
}
