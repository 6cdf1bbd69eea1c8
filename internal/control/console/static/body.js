// Bodies as they are shown. They are whatever somebody sent, and become text
// nodes.

import { make } from "./dom.js";
import { count, visible } from "./format.js";
import { button } from "./parts.js";

const most = 16 << 10; // characters shown until somebody asks for all
const mostHex = 4 << 10; // bytes
const mostLaidOut = 256 << 10, deepest = 40;

// indent lays JSON out and changes nothing else in it: no number is rounded and
// no name is dropped, as would happen if it were decoded. It returns null for
// what is not JSON, or is so long that nobody would read it.
export function indent(text) {
  if (text.length > mostLaidOut) return null;
  try { JSON.parse(text); } catch { return null; }
  const out = [];
  let depth = 0, before = "";
  const line = () => `\n${"  ".repeat(Math.min(depth, deepest))}`;
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},:]|[^\s"[\]{},:]+/gs)) {
    const opened = before === "{" || before === "[", closes = token === "}" || token === "]";
    if (closes) depth--;
    if (before === "," || opened !== closes && (opened || closes)) out.push(line());
    out.push(token === ":" ? ": " : token);
    if (token === "{" || token === "[") depth++;
    before = token;
  }
  return out.join("");
}

export const decode = (base64) => Uint8Array.from(atob(base64 ?? ""), (c) => c.charCodeAt(0));

// hex is a dump: place, bytes, and what of them is text.
export function hex(raw) {
  const lines = [];
  for (let at = 0; at < raw.length; at += 16) {
    const part = [...raw.slice(at, at + 16)];
    const digits = part.map((b) => b.toString(16).padStart(2, "0")).join(" ").padEnd(47);
    lines.push(`${at.toString(16).padStart(6, "0")}  ${digits}  ${part.map((b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : "·")).join("")}`);
  }
  return lines.join("\n");
}

// part shows the head of a long text, and all of it when asked.
export function part(name, whole, render = visible, bound = most) {
  const pre = make("pre", { tabindex: "0", "aria-label": name, class: render === hex ? "body hex" : "body" }, render(whole.slice(0, bound)));
  if (whole.length <= bound) return [pre];
  const rest = make("p", { class: "empty" }, `This is the head. `, button(`Show all of it (${count(whole.length)})`, () => {
    pre.textContent = render(whole);
    rest.remove();
    pre.focus();
  }));
  return [pre, rest];
}

// body shows a body as text, JSON or bytes.
export function body(b) {
  if (!b || b.bytes === 0) return [make("p", { class: "empty" }, "The body is empty.")];
  if (b.text == null) return [make("p", { class: "empty" }, `${count(b.bytes)} bytes that are no text`), ...part("body, in hexadecimal", decode(b.base64), hex, mostHex)];
  const pretty = indent(b.text), sent = part("body", b.text);
  if (pretty === null || pretty === b.text) return [make("p", { class: "empty" }, `${count(b.bytes)} bytes of text`), ...sent];
  const place = make("div", {}, ...part("body, laid out", pretty));
  const way = (id, label, nodes, checked) => [
    make("input", { type: "radio", name: "body-way", id, checked, change: () => place.replaceChildren(...nodes()) }), make("label", { for: id }, label)];
  return [
    make("fieldset", { class: "ways" }, make("legend", { class: "visually-hidden" }, "Body as"),
      ...way("body-json", "JSON", () => part("body, laid out", pretty), true),
      ...way("body-text", "As it was sent", () => part("body", b.text), false),
      make("span", { class: "empty" }, `${count(b.bytes)} bytes`)),
    place];
}
