// The demonstration's controls and its score.

import { call } from "./api.js";
import { byId, make, put } from "./dom.js";
import { count, milliseconds, share } from "./format.js";

const rows = [
  ["pills sent", (c) => count(c.pills_sent)],
  ["workers lost", (c) => count(c.workers_lost), (c) => (c.workers_lost > 2 ? "bad" : "good")],
  ["good requests answered", (c) => share(c.good_ok, c.good_sent - c.good_waiting), (c) => (c.good_ok === c.good_sent - c.good_waiting ? "good" : "bad")],
  ["… of", (c) => count(c.good_sent)],
  ["innocents refused", (c) => count(c.innocents_refused), (c) => (c.innocents_refused > 0 ? "bad" : "good")],
  ["p50", (c) => milliseconds(c.p50_ms)],
  ["p99", (c) => milliseconds(c.p99_ms)],
];

export class Demo {
  #picture; #act; #state = null; #failed = null;

  constructor(picture, act) {
    this.#picture = picture;
    this.#act = act;
    byId("play").addEventListener("click", () => this.#set({ paused: !this.#state?.paused }));
    byId("defence").addEventListener("click", () => this.#set({ defence: !this.#state?.defence }));
    byId("after").addEventListener("change", (e) => this.#set({ after: Number(e.target.value) }));
    byId("reset").addEventListener("click", () => this.#post("reset", {}));
  }

  #set(change) { return this.#post("set", change); }

  async #post(what, body) {
    await this.#act(what, async () => this.#show(await call("POST", `/api/v1/demo/${what}`, body)));
  }

  // poll asks how things stand and shows it.
  async poll() { this.#show(await call("GET", "/api/v1/demo/state")); }

  #show(state) {
    if (this.#state === null) this.#build(state);
    this.#state = state;
    const now = state.defence ? "with" : "without";
    put(byId("play"), state.paused ? "Play" : "Pause");
    byId("defence").setAttribute("aria-checked", String(state.defence));
    byId("defence").disabled = byId("after").disabled = state.switching;
    put(byId("defence-word"), state.switching ? "…" : state.defence ? "on" : "off");
    if (document.activeElement !== byId("after")) byId("after").value = String(state.after);
    byId("gateway").dataset.defence = state.defence ? "on" : "off";
    put(byId("gateway-name"), state.defence ? "Bezoar" : "plain balancer");
    byId("quarantine-box").dataset.off = String(!state.defence);
    put(byId("callers-number"), state.paused ? "paused" : count(state.rate));
    put(byId("callers-unit"), state.paused ? "" : "requests/s");

    this.#picture.pause(state.paused && !state.switching);
    const counts = state.counts[now];
    this.#picture.refused(state.counts.with.pills_refused);
    const failed = counts.good_failed;
    if (this.#failed?.mode === now && failed > this.#failed.n) this.#picture.lost(failed - this.#failed.n);
    this.#failed = { mode: now, n: failed };
    put(byId("quarantine-unit"), `${count(state.counts.with.pills_refused)} refused`);
    this.#score(state.counts, now);
  }

  #build(state) {
    for (const pill of state.pills) {
      byId("pills").append(make("button", {
        type: "button", class: "pill-button", title: pill.explain,
        click: () => {
          put(byId("explain"), pill.explain.replace(/; (it is sent|two a).*/, ""));
          this.#post("pill", { pill: pill.name });
        },
      }, pill.name));
    }
    for (let n = 1; n <= state.max_after; n++) byId("after").append(make("option", { value: n }, n));
    for (const [name] of rows) {
      byId("score-rows").append(make("tr", {}, make("th", { scope: "row" }, name), make("td"), make("td")));
    }
  }

  #score(counts, now) {
    byId("col-without").dataset.now = String(now === "without");
    byId("col-with").dataset.now = String(now === "with");
    rows.forEach(([, text, tone], i) => {
      const [, without, guarded] = byId("score-rows").children[i].children;
      for (const [cell, c, mode] of [[without, counts.without, "without"], [guarded, counts.with, "with"]]) {
        put(cell, text(c));
        cell.dataset.now = String(now === mode);
        cell.dataset.tone = tone && c.good_sent > 0 ? tone(c) : "";
      }
    });
  }
}
