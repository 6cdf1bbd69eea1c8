// The settings: which version runs, those before, what each changed, and going
// back to one.

import { call } from "./api.js";
import { ask, byId, keep, make, put, show } from "./dom.js";
import { left, visible } from "./format.js";
import { button, when, wild } from "./parts.js";

const most = 30; // versions that are listed

// settings shows where they stand, and returns what is overridden.
export async function settings(act) {
  let status;
  try {
    status = await call("GET", "/api/v1/settings");
  } catch (error) {
    if (error.status !== 404) throw error;
    put(byId("settings-state"), "This process follows no settings file: its settings do not change while it runs.");
    byId("override-new").hidden = true;
    return [];
  }
  const { running, wanted } = status;
  put(byId("settings-state"), `Version ${running.number} runs on ${visible(status.node)}; it came ${left(status.since)}.`
    + (wanted.number !== running.number ? ` Version ${wanted.number} is wanted.` : "")
    + (status.file?.path ? ` The file is ${visible(status.file.path)}${status.file.runs ? "" : ", with other content than the running settings"}.` : ""));
  const faults = [status.error, status.store?.error && `the store does not answer: ${status.store.error}`, status.file?.error].filter(Boolean).join("\n");
  put(byId("settings-error"), visible(faults));
  byId("settings-error").hidden = faults === "";
  const { versions } = await call("GET", `/api/v1/settings/versions?limit=${most}`);
  keep(byId("version-rows"), versions, (v) => String(v.number), (v) => line(v, act), (row, v) => {
    const runs = v.number === running.number;
    put(row.firstChild.lastChild, runs ? "runs" : "");
    row.lastChild.lastChild.disabled = runs;
  });
  sort(byId("version-rows"));
  return status.overrides ?? [];
}

// sort puts the newest version first: keep adds what is new at the end.
function sort(rows) {
  const wanted = [...rows.children].sort((a, b) => Number(b.dataset.key) - Number(a.dataset.key));
  wanted.forEach((row, i) => { if (rows.children[i] !== row) rows.insertBefore(row, rows.children[i]); });
}

function line(v, act) {
  return make("tr", {},
    make("th", { scope: "row", class: "number" }, String(v.number), make("small")),
    make("td", {}, when(v.at)), make("td", {}, wild(v.by)), make("td", {}, visible(v.source)),
    make("td", { class: "work" }, wild(v.note || "–")),
    make("td", { class: "actions-cell" },
      button("What changed", () => compare(v.number, act), { "aria-label": `What version ${v.number} changed`, disabled: v.number <= 1 }),
      button("Go back …", () => back(v.number, act), { "aria-label": `Go back to version ${v.number}` })));
}

async function compare(number, act) {
  await act("compare", async () => {
    const d = await call("GET", `/api/v1/settings/diff?from=${number - 1}&to=${number}`);
    show(`Version ${d.from} to ${d.to}`, d.text ? diff(d.text) : make("p", {}, "The texts are equal."));
  });
}

// diff shows one in the unified format: signs stay, so that colour says nothing
// alone.
function diff(text) {
  return make("pre", { class: "diff", tabindex: "0", "aria-label": "what changed" },
    ...text.replace(/\n$/, "").split("\n").map((l) => make("span", { "data-sign": l[0] ?? "" }, visible(l) || " ")));
}

async function back(number, act) {
  const yes = await ask("Go back?", `The text of version ${number} becomes a new version, and runs on every node. The file is not changed; the next change of it wins again.`, "Go back");
  if (!yes) return;
  await act("go back", async () => {
    const done = await call("POST", "/api/v1/settings/rollback", { to: number });
    if (done.error) throw new Error(done.error);
  });
}
