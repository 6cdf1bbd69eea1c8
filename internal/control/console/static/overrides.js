// Overrides: what operators have changed for somebody, for a while.

import { call } from "./api.js";
import { ask, byId, keep, make, put } from "./dom.js";
import { left } from "./format.js";
import { changes, whom } from "./guards.js";
import { button, wild } from "./parts.js";

export function overrides(list, act) {
  byId("overrides-empty").hidden = list.length > 0;
  keep(byId("override-rows"), list, (o) => o.id, (o) => make("tr", {},
    make("th", { scope: "row", class: "name" }, wild(whom(o))), make("td", {}, wild(changes(o))), make("td"),
    make("td", {}, wild(o.by)), make("td", { class: "work" }, wild(o.reason || "–")),
    make("td", { class: "actions-cell" }, button("Lift …", () => lift(o, act), { "aria-label": `Lift ${o.id}` }))),
  (row, o) => put(row.children[2], left(o.until)));
}

async function lift(o, act) {
  if (await ask("Lift it?", `The settings hold again for ${whom(o)}, at once and on every node.`, "Lift")) {
    await act("lift", () => call("DELETE", `/api/v1/overrides/${encodeURIComponent(o.id)}`));
  }
}

// form lets a person write one. done is called when it is in force.
export function form(done) {
  const dialog = byId("override"), value = byId("override-value");
  const labels = { rate: "Factor", concurrency: "Factor", guard: "Factor", priority: "Priority", deny: "" };
  byId("override-what").addEventListener("change", (e) => {
    const label = labels[e.target.value];
    value.parentElement.hidden = label === "";
    byId("override-class-field").hidden = e.target.value !== "guard";
    put(byId("override-value-label"), label);
    value.value = label === "Factor" ? "0.5" : label === "Priority" ? "sheddable" : "";
  });
  byId("override-new").addEventListener("click", () => {
    byId("override-wrong").hidden = true;
    dialog.showModal();
  });
  byId("override-no").addEventListener("click", () => dialog.close());
  byId("override-form").addEventListener("submit", async (e) => {
    e.preventDefault();
    const kind = byId("override-what").value, wanted = { what: kind, for: byId("override-for").value.trim() };
    if (labels[kind] === "Factor") wanted.factor = Number(value.value.replace(",", "."));
    else if (labels[kind] === "Priority") wanted.value = value.value.trim();
    for (const part of ["caller", "route", "reason", "class"]) {
      const text = byId(`override-${part}`).value.trim();
      if (text && (part !== "class" || kind === "guard")) wanted[part] = text;
    }
    try {
      await call("POST", "/api/v1/overrides", wanted);
    } catch (error) {
      put(byId("override-wrong"), error.message);
      byId("override-wrong").hidden = false;
      return;
    }
    dialog.close();
    done();
  });
}
