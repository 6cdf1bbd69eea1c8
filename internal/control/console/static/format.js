// How things are written. Pure functions.

export const count = (n) => Number(n ?? 0).toLocaleString("en").replaceAll(",", "\u202f");

// many is a number of things: "1 letter", "2 letters"; things when that is no s.
export const many = (n, thing, things = `${thing}s`) => `${count(n)} ${Number(n) === 1 ? thing : things}`;

export function clock(time) {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? "" : at.toLocaleTimeString("en-GB");
}

// share is a percentage that says 100 only when it is.
export function share(part, whole) {
  if (!whole) return "–";
  const exact = (100 * part) / whole;
  return `${part < whole && exact > 99.99 ? "99.99" : exact.toFixed(exact === 100 ? 0 : 2)} %`;
}

export function milliseconds(ms) {
  if (ms == null || ms < 0) return "–";
  if (ms === 0) return "–";
  return ms < 1000 ? `${ms.toFixed(1)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

// left is the time until an instant, or since it.
export function left(time, now = Date.now()) {
  const ms = new Date(time).getTime() - now;
  if (Number.isNaN(ms) || new Date(time).getFullYear() < 1990) return "";
  const s = Math.round(Math.abs(ms) / 1000);
  const text = s < 90 ? `${s} s` : s < 5400 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`;
  return ms >= 0 ? `in ${text}` : `${text} ago`;
}

// words turns a counter's name into words: "lane_runs" is "lane runs".
export const words = (name) => name.replaceAll(/[_-]/g, " ");

// bytes decodes base64 into text if it is that, else into hexadecimal.
export function bytes(base64) {
  if (!base64) return "";
  const raw = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(raw);
  } catch {
    return [...raw.slice(0, 4096)].map((b) => b.toString(16).padStart(2, "0")).join(" ");
  }
}

const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const named = (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

// visible shows control characters as pictures of themselves, and names those
// that turn the direction of text or cannot be seen at all.
export const visible = (text) =>
  text.replaceAll(unseen, (c) => (c < " " ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : named(c)));

// spell names such characters so that unspell gives the same text again,
// whatever it was.
export const spell = (text) => text.replaceAll("⟨U+", `${named("⟨")}U+`).replaceAll(unseen, named);
export const unspell = (text) => text.replaceAll(/⟨U\+([0-9A-F]{4})⟩/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
