package queuetest

import (
	"time"

	"github.com/bezoar-dev/bezoar/policy/poison"
)

// Different work may share a brief body, such as "ok": it is quarantined, and
// probed after a fifteenth of the term. A probe that works releases it.
func testBriefProbesSooner(r *rig) {
	d := r.at("jobs", nil)
	d.brief = true
	// Copies of what is not suspected do not wait for each other.
	d.put(3, "hi1", "hi2")
	first, second := d.claim(1).Messages, d.claim(1).Messages
	r.fatalIf(len(first) != 1 || len(second) != 1, "received %v, then %v", bodies(first), bodies(second))
	d.done(append(first, second...)...)
	d.convict(1)
	d.put(1, "ok1")
	d.take()
	d.wantDead("pill1", "ok1")
	r.age(61 * time.Second)
	d.put(1, "ok2", "ok3")
	d.done(d.alone("ok2"))
	if k := d.wantState(1, poison.Watched); !k.Proven {
		r.Errorf("after the probe: %+v", k)
	}
	d.done(d.take("ok3")...)
	d.put(2, "pill2")
	d.vanish(d.take("pill2")...)
	d.vanish(d.alone("pill2"))
	d.take()
	d.put(2, "a longer body waits for the whole term")
	r.age(61 * time.Second)
	d.take()
}
