// Who causes most. The names are what callers write.

import { call } from "./api.js";
import { byId, make, put } from "./dom.js";
import { clock, count, milliseconds } from "./format.js";
import { query, wild } from "./parts.js";

const names = { cost: "Time on workers", requests: "Requests", refused: "Refused", errors: "Errors", bytes: "Bytes", units: "Units" };
const rest = ["requests", "cost", "refused", "errors", "bytes"];

// value writes a number of what callers are ranked by. A pure function.
export function value(by, n) {
  if (by === "cost") return n < 3.6e12 ? milliseconds(n / 1e6) : `${(n / 3.6e12).toFixed(1)} h`;
  if (by !== "bytes") return count(n);
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; n >= 1000 && unit < units.length - 1; unit++) n /= 1000;
  return `${unit ? n.toFixed(1) : n} ${units[unit]}`;
}

export class TopCallers {
  #asked = 0;

  // changed is called when somebody wants another list.
  constructor(changed) {
    const parameters = new URLSearchParams(location.search);
    for (const [id, name] of [["top-by", "by"], ["top-window", "window"]]) {
      const select = byId(id), wanted = parameters.get(name);
      if ([...select.options].some((o) => o.value === wanted)) select.value = wanted;
      select.addEventListener("change", () => {
        history.replaceState(null, "", `?${query({ by: byId("top-by").value, window: byId("top-window").value })}`);
        this.hold(false);
        changed();
      });
    }
    byId("top-hold").addEventListener("click", () => {
      this.hold(!this.held);
      if (!this.held) changed();
    });
  }

  get held() { return byId("top-hold").getAttribute("aria-pressed") === "true"; }

  hold(on) { byId("top-hold").setAttribute("aria-pressed", String(on)); }

  async poll() {
    if (this.held) return;
    const by = byId("top-by").value, round = ++this.#asked;
    const top = await call("GET", `/api/v1/top?${query({ by, window: byId("top-window").value, limit: 20 })}`);
    if (round === this.#asked && !this.held) this.#show(top);
  }

  #show(top) {
    const columns = [top.by, ...rest.filter((r) => r !== top.by)];
    byId("top-head").replaceChildren(
      make("th", { scope: "col" }, "Caller"), make("th", { scope: "col" }, "Share"),
      ...columns.map((c) => make("th", { scope: "col", class: "number" }, names[c])));
    byId("top-rows").replaceChildren(...top.callers.map((c) => make("tr", {},
      make("th", { scope: "row", class: "name" }, wild(c.caller)),
      make("td", { class: "bar-cell" }, bar(c.share)),
      ...columns.map((by) => {
        const n = by === top.by ? c.value : c.also?.[by];
        const off = by === top.by && c.error ? `at most ${value(by, c.error)} too high` : null;
        return make("td", { class: "number", title: off }, n == null ? "–" : `${off ? "≤ " : ""}${value(by, n)}`);
      }))));
    const error = top.error ? `, counted to within ${value(top.by, top.error)}` : "";
    put(byId("top-sum"), `Since ${clock(top.since)}: ${value(top.by, top.total)} in all${error}.${top.names === "hash" ? " Callers are shown as hashes; callers: {show: label} in the settings shows who they are." : ""}`);
    byId("top-empty").hidden = top.callers.length > 0;
    put(byId("top-empty"), top.names === "off" ? "Callers are not listed: access_log.caller is off." : "There are no callers to list: routes identify callers by their client setting.");
  }
}

// bar draws a share.
function bar(share) {
  const part = Math.max(0, Math.min(1, share || 0));
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 100 10");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${(100 * part).toFixed(1)} %`);
  for (const width of [100, 100 * part]) {
    const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    rect.setAttribute("width", width);
    rect.setAttribute("height", 10);
    svg.append(rect);
  }
  return svg;
}
