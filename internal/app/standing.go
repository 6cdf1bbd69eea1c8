package app

import (
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/shard"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

// standing adds the state of the fleet's protections to the API's view of it.
func (a *App) standing(u *unit, f *adminapi.Fleet) {
	cfg, st := u.cfg.Load(), u.fleet.Stats()
	f.Ejections, f.Rollout = st.Ejections, u.rolloutView()
	if st.Panic {
		f.State, f.Panic = "panic", &adminapi.Panic{Since: st.PanicSince, Healthy: st.Well, Up: st.Up}
	}
	if p := a.protect.pool(u.name); p != nil {
		f.Pool = poolView(p.Stats(), cfg.Concurrency)
	}
	if s := cfg.Shard; s != nil {
		f.Shard = shardView(s, u.size(), st.Overflowed)
	}
}

func poolView(st overload.Stats, c *config.Concurrency) *adminapi.Pool {
	out := &adminapi.Pool{
		Limit: st.Limit, Adaptive: c != nil && c.Limit == 0, InFlight: st.InFlight, Queued: st.Queued, Streams: st.Streams,
		Latency: adminapi.Duration(st.Latency), Normal: adminapi.Duration(st.Baseline), Pressure: st.Pressure,
	}
	for _, p := range shed.Priorities() {
		n := st.Of(p)
		c := adminapi.Class{Priority: p.String(), Admitted: n.Admitted, Waited: n.Waited, Shed: n.Refused()}
		for rule, n := range map[string]uint64{
			overload.RuleConcurrency: n.Concurrency, overload.RuleQueue: n.Queue,
			overload.RuleDeadline: n.Deadline, overload.RulePerCaller: n.PerCaller, overload.RuleStreams: n.Streams,
		} {
			if n == 0 {
				continue
			}
			if c.Rules == nil {
				c.Rules = map[string]uint64{}
			}
			c.Rules[rule] = n
		}
		out.Classes = append(out.Classes, c)
	}
	return out
}

func shardView(s *config.Shard, workers int, overflowed uint64) *adminapi.Shard {
	out := &adminapi.Shard{Size: s.Size, Cells: s.Cells, Overflow: s.Overflow, Overflowed: overflowed}
	switch {
	case s.Cells > 0:
		out.Whole = 1 / float64(s.Cells)
	case s.Size == 0:
		out.Size = shard.Default(workers)
		fallthrough
	default:
		out.Whole = shard.Overlap(workers, out.Size).Whole()
	}
	return out
}

// held returns how the fleet judges a worker that is up.
func held(s *fleet.Status) *adminapi.Held {
	if !s.HeldOut && s.Sick == "" && s.Ejected == nil && !s.Silent {
		return nil
	}
	out := &adminapi.Held{Out: s.HeldOut || s.Silent, Unhealthy: s.Sick, Silent: s.Silent, Ejections: s.Ejections}
	if s.Ejected != nil {
		out.Ejected = *s.Ejected
	}
	return out
}
