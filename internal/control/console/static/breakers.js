// Circuit breakers: where they stand, why, and holding them open or closed.

import { call } from "./api.js";
import { ask, byId, keep, make, put } from "./dom.js";
import { count, left, visible } from "./format.js";
import { badge, button, mark, wild } from "./parts.js";

const held = "10m"; // for which a person holds one

const place = (name) => `/api/v1/breakers/${encodeURIComponent(name)}/override`;

export async function breakers(act) {
  const { breakers: list } = await call("GET", "/api/v1/breakers");
  byId("breakers-empty").hidden = list.length > 0;
  keep(byId("breaker-rows"), list, (b) => b.name, (b) => line(b, act), update);
}

function line(b, act) {
  const [fleet, ...route] = b.name.split(" "), name = b.name;
  const force = async (state, title, text, yes) => {
    if (await ask(title, text, yes)) await act("force", () => call("PUT", place(name), { state, for: held }));
  };
  return make("tr", {},
    make("th", { scope: "row", class: "name" }, wild(route.join(" ")), make("small", {}, visible(fleet))),
    make("td", {}, badge("closed"), make("small")), make("td", { class: "work" }), make("td"),
    make("td", { class: "number" }), make("td", { class: "number" }), make("td", { class: "number" }),
    make("td", { class: "actions-cell" },
      button("Open …", () => force("open", "Hold it open?", `Nothing is sent to ${visible(name)} for 10 minutes, on every node. Its callers get the fallback, or 503.`, "Hold open"), { "aria-label": `Hold open ${name}` }),
      button("Close …", () => force("closed", "Hold it closed?", `Everything is sent to ${visible(name)} for 10 minutes, on every node, whatever the results are.`, "Hold closed"), { "aria-label": `Hold closed ${name}` }),
      button("Let go", () => act("reset", () => call("DELETE", place(name))), { "aria-label": `Let go of ${name}` })));
}

function update(row, b) {
  const [, state, why, until, calls, failed, slow, actions] = row.children;
  mark(state.firstChild, b.state);
  put(state.lastChild, b.forced ? `held by ${visible(b.forced.by || "an operator")}` : "");
  put(why, visible(b.reason ?? "") || "–");
  put(until, b.until ? left(b.until) || "–" : "–");
  put(calls, count(b.counts.calls));
  put(failed, count(b.counts.failed));
  put(slow, count(b.counts.slow));
  actions.lastChild.disabled = !b.forced;
}
