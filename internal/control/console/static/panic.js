// The banner of what nobody should overlook. Panic mode: so many workers of a fleet
// look unhealthy that Bezoar ignores health checks. And a rolling restart that stopped because
// the new version did not prove itself.

import { byId, make } from "./dom.js";
import { clock, visible } from "./format.js";

let told = ""; // what the banner says, so that it is read out once

// alarm shows the banner while any fleet is in panic, or its last rolling restart
// is one that stopped.
export function alarm(fleets) {
  const sick = fleets.filter((f) => f.panic);
  const stopped = fleets.filter((f) => f.rollout?.state === "stopped");
  const key = [
    ...sick.map((f) => `${f.name} ${f.panic.since} ${f.panic.healthy} ${f.panic.up}`),
    ...stopped.map((f) => `${f.name} ${f.rollout.number} ${f.rollout.ended}`),
  ].join("\n");
  byId("panic").hidden = sick.length + stopped.length === 0;
  if (key === told) return;
  told = key;
  byId("panic").replaceChildren(...sick.map((f) => make("p", {},
    make("b", {}, `Panic mode: ${visible(f.name)}`),
    ` since ${clock(f.panic.since)}. Only ${f.panic.healthy} of ${f.panic.up} workers look healthy. `
    + "When so many workers look unhealthy, the fault is mostly in the checks. Bezoar ignores them: all workers that are up get requests. "
    + "Look first at what the health checks depend on, then at the workers.")),
  ...stopped.map((f) => make("p", {},
    make("b", {}, `Rolling restart stopped: ${visible(f.name)}`),
    ` at ${clock(f.rollout.ended)}, ${f.rollout.replaced} of ${f.rollout.workers} workers replaced. `
    + `${visible(f.rollout.why)}. ${visible(f.rollout.next)}`)));
}
