// The log of what happens, as text. It is bounded, and at most one batch a
// second is added: in the middle of a catastrophe nobody can listen to more.

import { byId, make } from "./dom.js";
import { clock, visible } from "./format.js";

const maxLines = 200;
const maxBatch = 8;
const maxPast = 50; // of what happened before the page was opened

const signs = {
  "worker.up": ["↻", "good"],
  "worker.down": ["✖", "bad"],
  verdict: ["◆", "pill"],
  letter: ["✉", "pill"],
  lane: ["◇", "lane"],
  gate: ["▲", "bad"],
  recovery: ["▲", "bad"],
  panic: ["▲", "bad"],
  rollout: ["▲", "bad"],
  circuit: ["○", "bad"],
  "worker.unhealthy": ["✖", "bad"],
  "worker.ejected": ["✖", "bad"],
  "worker.healthy": ["●", "good"],
  "worker.returned": ["●", "good"],
};

export class Log {
  #list = byId("log");
  #waiting = [];
  #timer = 0;

  add(event) {
    this.#waiting.push(event);
    this.#timer ||= setTimeout(() => this.#flush(), 1000);
  }

  #flush() {
    this.#timer = 0;
    const batch = this.#waiting;
    this.#waiting = [];
    const most = this.#list.children.length === 0 ? maxPast : maxBatch;
    const more = batch.length - most;
    const shown = more > 0 ? batch.slice(-most) : batch;
    const atEnd = this.#list.scrollHeight - this.#list.scrollTop - this.#list.clientHeight < 24;
    if (more > 0) this.#line({ at: shown[0].at, kind: "", text: `… and ${more} more before` });
    for (const event of shown) this.#line(event);
    while (this.#list.children.length > maxLines) this.#list.firstChild.remove();
    if (atEnd) this.#list.scrollTop = this.#list.scrollHeight;
  }

  #line(event) {
    const [sign, tone] = signs[event.kind] ?? ["·", ""];
    this.#list.append(make("li", { "data-tone": tone },
      make("time", { datetime: event.at, title: event.at }, clock(event.at)),
      make("span", { class: "sign", "aria-hidden": "true" }, sign),
      make("span", {}, visible(event.text))));
  }
}
