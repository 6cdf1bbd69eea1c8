package app

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// observe passes a decision on to the event stream and to Options.Observe.
func (a *App) observe(e ledger.Event) {
	a.hub.Publish(eventOf(e))
	a.accuse(e)
	if a.opt.Observe != nil {
		a.opt.Observe(e)
	}
}

// eventOf converts an event to the API's form, with one line for people.
func eventOf(e ledger.Event) adminapi.Event {
	out := adminapi.Event{At: e.At, Kind: "verdict", Fleet: e.Fleet}
	v, ev := &e.Verdict, &e.Evidence
	if e.Kind == blame.EpochEnded {
		class := ev.Class
		out.Kind, out.Worker, out.Epoch, out.Class = "worker.down", ev.Worker, ev.Epoch, &class
		switch {
		case e.Planned:
			out.Text = fmt.Sprintf("%s was taken down as planned (%s)", ev.Worker, ev.Detail)
		case ev.Lane:
			out.Text = fmt.Sprintf("%s died in the lane: %s", ev.Worker, ev.Detail)
		default:
			out.Text = fmt.Sprintf("%s died with %d in flight: %s", ev.Worker, ev.InFlight, ev.Detail)
		}
		return out
	}
	out.Verdict, out.State, out.Fingerprint = v.ID, v.State, v.Fingerprint
	named := *v
	named.State = "" // the line says it
	what := adminapi.HeldText(&named)
	switch e.Kind {
	case blame.Suspect:
		out.Text = fmt.Sprintf("%s is a suspect with %.2f of the blame: it runs alone", what, v.Score)
	case blame.Pardoned:
		out.Text = what + " ran clean alone and is pardoned"
	case blame.Convicted:
		if v.ReportOnly {
			out.Text = fmt.Sprintf("%s would be quarantined, but its route only reports: %s", what, v.Reason)
			break
		}
		out.Text = fmt.Sprintf("%s is quarantined for %v: %s", what, v.Until.Sub(e.At).Round(time.Second), v.Reason)
	case blame.Probed:
		out.Text = what + " has served its time: one copy tries the lane"
	case blame.Released:
		out.Text = what + " is released"
	case blame.MadeConditional:
		out.Text = what + " " + v.Reason
	case blame.GroupLaned:
		out.Text = fmt.Sprintf("%s: %s", what, v.Reason)
	case blame.GateClosed:
		if e.Planned {
			out.Kind, out.Text = "gate", "a rollout has begun: until it ends, no request is convicted"
			break
		}
		if e.Strikes {
			out.Kind, out.Text = "gate", "the fleet gate closed: too many requests fail at once on live workers, so the requests are not the cause; none is convicted"
			break
		}
		out.Kind, out.Text = "gate", "the fleet gate closed: too many workers die at once, so the requests are not the cause; none is convicted"
	case blame.GateOpened:
		out.Kind, out.Text = "gate", "the fleet gate opened"
	case blame.RecoveryBegan:
		out.Kind, out.Text = "recovery", "half of the workers have died: unproven requests return to the fleet a few at a time, proven ones are not held back"
	case blame.RecoveryEnded:
		out.Kind, out.Text = "recovery", "the fleet has recovered: no requests are held back"
	case blame.Refunded:
		out.Text = what + ": the conviction is taken back, the whole fleet is in trouble"
	case blame.Dropped:
		out.Text = what + ": the verdict has expired"
	}
	return out
}
