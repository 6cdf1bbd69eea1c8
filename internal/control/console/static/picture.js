// The fleet as a picture: boxes that are ordinary elements with ordinary text,
// and dots that fly between them.

import { byId, keep, make, put } from "./dom.js";
import { Dots } from "./dots.js";
import { count, many } from "./format.js";

const looks = {
  serving: ["●", "serving"],
  lane: ["◆", "in the lane"],
  starting: ["↻", "starting"],
  draining: ["◌", "draining"],
  dead: ["✖", "down"],
};

function stateOf(worker) {
  switch (worker.state) {
    case "ready": return worker.lane ? "lane" : "serving";
    case "lane": return "lane";
    case "starting": return "starting";
    case "draining": return "draining";
    default: return "dead";
  }
}

const most = 24; // dots drawn of what happened in one poll, per worker

export class Picture {
  #dots; #seen = new Map(); #refused = null; #each;

  // each is the time in milliseconds between two updates: what happened in it
  // is spread over it.
  constructor(each) {
    this.#each = each;
    this.#dots = new Dots(byId("dots"), byId("picture"));
    new ResizeObserver(() => this.#tracks()).observe(byId("picture"));
  }

  get still() { return this.#dots.still; }

  // update shows one fleet as it is now.
  update(fleet) {
    const laned = fleet.workers.filter((w) => stateOf(w) === "lane");
    const tile = (w) => w.name;
    const before = new Map([...document.querySelectorAll(".tile")].map((t) => [t.dataset.key, t.getBoundingClientRect()]));
    keep(byId("workers"), fleet.workers.map((w) => (laned.includes(w) ? { ...w, away: true } : w)), tile,
      () => make("li"), (li, w) => (w.away ? this.#slot(li) : this.#tile(li, w)));
    keep(byId("lane-slot"), laned, tile, () => make("li"), (li, w) => this.#tile(li, w));
    this.#glide(before);

    const busy = fleet.workers.reduce((sum, w) => sum + w.in_flight, 0);
    put(byId("gateway-number"), count(busy));
    const lane = byId("lane");
    const waiting = fleet.lane.waiting > 0 ? `${fleet.lane.waiting} waiting` : "";
    const how = laned.length > 0 ? "one at a time" : fleet.lane.open ? "no suspect" : "closed: too few healthy workers";
    put(byId("lane-note"), waiting || how);
    lane.dataset.off = String(!fleet.lane.open && laned.length === 0);
    this.#flow(fleet);
  }

  // tracks draws the ways that work can take.
  #tracks() {
    const outer = byId("picture").getBoundingClientRect();
    const place = (id) => {
      const r = byId(id).getBoundingClientRect();
      return { x: r.left - outer.left + r.width / 2, y: r.top - outer.top + r.height / 2, r };
    };
    const way = (from, to, kind) => {
      const { x: ax, y: ay } = place(from);
      let { x: bx, y: by, r } = place(to);
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      const wide = Math.abs(bx - ax) > Math.abs(by - ay);
      // It ends at the edge: the boxes are not all opaque.
      if (wide) bx -= (Math.sign(bx - ax) * r.width) / 2;
      else by -= (Math.sign(by - ay) * r.height) / 2;
      const [cx, cy, dx, dy] = wide ? [(ax + bx) / 2, ay, (ax + bx) / 2, by] : [ax, (ay + by) / 2, bx, (ay + by) / 2];
      path.setAttribute("d", `M${ax} ${ay}C${cx} ${cy} ${dx} ${dy} ${bx} ${by}`);
      path.setAttribute("class", kind);
      return path;
    };
    byId("tracks").replaceChildren(
      way("callers", "gateway", "good"), way("gateway", "workers", "good"),
      way("gateway", "quarantine-box", "pill"), way("gateway", "lane", "lane"));
  }

  #slot(li) {
    if (li.className === "slot") return;
    li.className = "slot";
    li.removeAttribute("data-state");
    li.replaceChildren(make("span", { class: "visually-hidden" }, `${li.dataset.key} is in the lane`));
  }

  #tile(li, worker) {
    const state = stateOf(worker);
    if (!li.classList.contains("tile")) {
      li.className = "tile";
      li.replaceChildren(
        make("span", { class: "who" }, make("span"), make("span", { class: "deaths" })),
        make("span", { class: "what" }),
        make("span", { class: "busy", "aria-hidden": "true" }, make("i")),
        make("span", { class: "visually-hidden" }),
      );
    }
    const [who, what, busy, more] = li.children;
    li.dataset.state = state;
    put(who.firstChild, worker.name);
    put(who.lastChild, worker.restarts > 0 ? `✖ ${worker.restarts}` : "");
    what.dataset.sign = looks[state][0];
    put(what, looks[state][1]);
    busy.firstChild.style.width = `${Math.min(100, worker.in_flight * 12.5)}%`;
    put(more, `, ${worker.in_flight} in flight, ended ${many(worker.restarts, "time")}`);
    li.title = worker.last_end ? `last end: ${worker.last_end.detail}` : "";
  }

  // glide moves a tile that has changed its place from where it was.
  #glide(before) {
    if (this.still) return;
    for (const tile of document.querySelectorAll(".tile")) {
      const from = before.get(tile.dataset.key), to = tile.getBoundingClientRect();
      if (!from || (Math.abs(from.top - to.top) < 8 && Math.abs(from.left - to.left) < 8)) continue;
      tile.animate(
        [{ transform: `translate(${from.left - to.left}px, ${from.top - to.top}px)` }, { transform: "none" }],
        { duration: 320, easing: "cubic-bezier(.2,.8,.2,1)" },
      );
    }
  }

  // flow lets fly what each worker has been given since the last update.
  #flow(fleet) {
    for (const w of fleet.workers) {
      const last = this.#seen.get(w.name);
      this.#seen.set(w.name, { epoch: w.epoch, served: w.served });
      if (!last) continue;
      const n = last.epoch === w.epoch ? w.served - last.served : w.served;
      const kind = stateOf(w) === "lane" ? "lane" : "good";
      const target = this.#find(w.name);
      if (!target) continue;
      for (let i = 0; i < Math.min(n, most); i++) {
        this.#dots.fly(kind, [byId("callers"), byId("gateway"), target], { delay: Math.random() * this.#each });
      }
    }
  }

  #find(worker) {
    return [...document.querySelectorAll(".tile")].find((t) => t.dataset.key === worker);
  }

  // refused lets fly what the quarantine has turned away, from its total.
  refused(total) {
    const n = this.#refused === null ? 0 : total - this.#refused;
    this.#refused = total;
    for (let i = 0; i < Math.min(n, most); i++) {
      this.#dots.fly("pill", [byId("callers"), byId("gateway"), byId("quarantine-box")], { delay: Math.random() * this.#each });
    }
  }

  // down shows a worker's death: by a pill when blamed.
  down(worker, blamed) {
    const tile = this.#find(worker);
    if (!tile) return;
    const fall = () => {
      this.#dots.burst(tile);
      if (this.still) return;
      tile.classList.remove("hit");
      void tile.offsetWidth; // so that the movement starts again
      tile.classList.add("hit");
    };
    if (blamed) this.#dots.fly("pill", [byId("gateway"), tile], { arrived: fall });
    else fall();
  }
}
