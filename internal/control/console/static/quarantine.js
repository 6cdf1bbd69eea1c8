// The tables of verdicts and dead letters. Rows never move: what is there is
// updated in place, what is new comes last.

import { call } from "./api.js";
import { ask, byId, facts, keep, make, put, show } from "./dom.js";
import { bytes, clock, count, left, many, visible } from "./format.js";

const scopes = {
  variant: "this variant alone", feature: "what has this in common with killers", work: "",
  shape: "everything of this shape", client: "everything of this caller",
};

const short = (fingerprint) => `${(fingerprint ?? "").slice(0, 8)}…`;

// held says what a verdict is about, as bezoar quarantine ls does.
export function held(v) {
  const name = v.sample || short(v.fingerprint);
  if (v.scope === "variant") return `variant of ${name}`;
  if (v.scope === "feature") {
    const having = [v.features?.length ? `with ${v.features.join(" and ")}` : "", v.client ? `from caller ${short(v.client)}` : ""].filter(Boolean);
    return `${name} ${having.join(" ") || "with something that killers have in common"}`;
  }
  const what = { shape: "shape", endpoint: "new shapes of endpoint", client: "caller" }[v.scope];
  if (!what) return name;
  const group = `${what} ${short(v.fingerprint)}${v.sample ? `, such as ${v.sample}` : ""}`;
  if (v.state !== "laned") return group;
  return v.pace ? `${group}: lane only, ${Number(v.pace.toPrecision(3))}/s` : `${group}: lane only`;
}

// verdicts shows what is held against work and returns how many are convicted.
export function verdicts(list, act) {
  keep(byId("verdict-rows"), list, (v) => v.id, () => verdictRow(act), updateVerdict);
  byId("verdicts-empty").hidden = list.length > 0;
  return list.filter((v) => v.state === "quarantined" || v.state === "probing").length;
}

function verdictRow(act) {
  const row = make("tr", {},
    make("td", { class: "work" }, make("span"), make("small")),
    make("td", {}, make("span", { class: "badge" })),
    make("td"), make("td", { class: "number" }), make("td", { class: "number" }), make("td", { class: "number" }),
    make("td", { class: "actions-cell" },
      make("button", { type: "button", class: "quiet", click: () => showVerdict(row.dataset.key, act) }, "Evidence"),
      make("button", { type: "button", class: "quiet", click: () => release(row, act) }, "Release")));
  return row;
}

function updateVerdict(row, v) {
  const [work, state, cause, score, refused, until, actions] = row.children;
  const name = visible(held(v));
  put(work.children[0], name);
  put(work.children[1], [v.report_only ? "its route only reports" : "", scopes[v.scope], visible(v.reason)].filter(Boolean).join(" · "));
  state.firstChild.dataset.tone = v.state;
  put(state.firstChild, v.manual ? `${v.state} by hand` : v.state);
  put(cause, v.cause);
  put(score, v.score.toFixed(2));
  put(refused, count(v.refused));
  put(until, v.state === "quarantined" ? left(v.until) : "–");
  actions.children[0].setAttribute("aria-label", `Evidence against ${name}`);
  actions.children[1].setAttribute("aria-label", `Release ${name}`);
}

async function release(row, act) {
  const name = row.firstChild.firstChild.textContent;
  const yes = await ask("Release it?", `${name} will be sent to the fleet again. If it still kills workers it may cost as many as before.`, "Release");
  if (yes) await act("release", () => call("DELETE", `/api/v1/quarantine/${encodeURIComponent(row.dataset.key)}`));
}

async function showVerdict(id, act) {
  await act("show", async () => {
    const v = await call("GET", `/api/v1/quarantine/${encodeURIComponent(id)}`);
    show(visible(held(v)),
      v.why?.length ? make("h3", {}, "Why") : "", v.why?.length ? make("ul", {}, ...v.why.map((w) => make("li", {}, visible(w)))) : "",
      facts([
        ["Reason", visible(v.reason)], ["State", v.state], ["Covers", scopes[v.scope] || "every variant of this request"],
        ["Only reports", v.report_only ? "yes: its route refuses nothing" : ""],
        ["Killers have", v.features?.length ? visible(`${v.features.join(", ")}: ${v.killers} of ${v.killers}, and ${v.successes ? `0 of ${v.successes}` : "no"} successes`) : ""],
        ["Fleet", v.fleet], ["Route", v.route], ["Score", `${v.score.toFixed(2)} crashes`], ["Convicted", many(v.level, "time")],
        ["Since", clock(v.since)], ["Until", v.state === "quarantined" ? `${clock(v.until)}, ${left(v.until)}` : ""],
        ["Refused", count(v.refused)], ["Fingerprint", v.fingerprint], ["Variant", v.variant], ["Id", v.id],
      ]),
      ...evidence(v.evidence ?? []));
  });
}

function evidence(list) {
  return list.flatMap((e) => [
    make("h3", {}, `${clock(e.at)}: ${e.worker} died${e.lane ? " alone in the lane" : ""}`),
    facts([
      ["How", visible(e.detail)], ["Class", e.class], ["In flight", count(e.in_flight)],
      ["Blame", e.share.toFixed(2)], ["Others", (e.others ?? []).map((o) => `${o.fingerprint.slice(0, 8)} ${o.share.toFixed(2)}`).join(", ")],
    ]),
    e.stderr?.length ? make("pre", { tabindex: "0", "aria-label": "its last lines" }, visible(e.stderr.join("\n"))) : null,
  ]);
}

// letters shows the dead letters.
export function letters(list, act) {
  keep(byId("letter-rows"), list, (l) => l.id, () => letterRow(act), updateLetter);
  byId("letters-empty").hidden = list.length > 0;
}

function letterRow(act) {
  const row = make("tr", {},
    make("td", { class: "work" }, make("span"), make("small")),
    make("td"), make("td", { class: "number" }), make("td", { class: "number" }),
    make("td", { class: "actions-cell" },
      make("button", { type: "button", class: "quiet", click: () => showLetter(row.dataset.key, act) }, "Show"),
      make("button", { type: "button", class: "quiet", click: () => redrive(row, act) }, "Redrive"),
      make("button", { type: "button", class: "quiet", click: () => discard(row, act) }, "Discard")));
  return row;
}

function updateLetter(row, l) {
  const [work, cause, copies, last, actions] = row.children;
  const name = visible(`${l.request.method} ${l.request.target}`);
  put(work.children[0], name);
  put(work.children[1], visible(l.reason));
  put(cause, l.class);
  put(copies, count(l.copies));
  put(last, clock(l.last));
  for (const button of actions.children) button.setAttribute("aria-label", `${button.textContent} ${name}`);
}

const letterPath = (id) => `/api/v1/letters/${encodeURIComponent(id)}`;

async function showLetter(id, act) {
  await act("show", async () => {
    const l = await call("GET", letterPath(id));
    const head = Object.entries(l.request.header ?? {}).flatMap(([k, vs]) => vs.map((v) => `${k}: ${v}`)).join("\n");
    const body = bytes(l.request.body);
    show(visible(`${l.request.method} ${l.request.target}`),
      facts([
        ["Reason", visible(l.reason)], ["Class", l.class], ["Fleet", l.fleet], ["Route", l.route], ["Host", visible(l.request.host)],
        ["Caller", l.request.client], ["Copies", count(l.copies)], ["First", clock(l.first)], ["Last", clock(l.last)],
        ["Verdict", l.verdict], ["Fingerprint", l.fingerprint], ["Variant", l.variant], ["Redacted", redacted(l.request).join(", ")], ["Id", l.id],
      ]),
      head ? make("h3", {}, "Headers") : "", head ? make("pre", { tabindex: "0", "aria-label": "headers" }, visible(head)) : "",
      body ? make("h3", {}, l.request.truncated ? `Body (the head of ${count(l.request.body_size)} bytes)` : "Body") : "",
      body ? make("pre", { tabindex: "0", "aria-label": "body" }, visible(body)) : "",
      ...evidence(l.evidence ?? []));
  });
}

// redacted lists what of a request is not kept, and so not sent again.
function redacted(request) {
  const mark = "[redacted]";
  const names = Object.entries(request.header ?? {}).filter(([, values]) => values.some((v) => v.includes(mark))).map(([name]) => name).sort();
  return request.target.includes(mark) ? [...names, "parameters of the target"] : names;
}

async function redrive(row, act) {
  await act("redrive", async () => {
    const done = await call("POST", `${letterPath(row.dataset.key)}/redrive`);
    show("Redrive", facts([["Outcome", done.outcome], ["Status", done.status || ""], ["Reason", visible(done.reason ?? "")], ["Sent without", (done.missing ?? []).join(", ")], ["Verdict", done.verdict]]));
  });
}

async function discard(row, act) {
  const name = row.firstChild.firstChild.textContent;
  const yes = await ask("Discard it?", `${name} and its evidence will be gone for good.`, "Discard");
  if (yes) await act("discard", () => call("DELETE", letterPath(row.dataset.key)));
}
