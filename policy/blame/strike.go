package blame

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// strike records an attempt that overstayed or broke its connection while the
// worker lived. Enough of them convict work that has not succeeded meanwhile;
// work with a record of success must fail once in the lane, too.
func (state *State) strike(now int64, tk *ticket, e *epoch, r Result) {
	if tk.work.Exempt {
		return
	}
	i := state.caseFor(now, &tk.work)
	if i == none {
		return
	}
	c := &state.cases[i]
	if !c.strike(state.secondOf(now), e.id, r) {
		return
	}
	state.gate.attemptFailed(state, now, tk.work.Fingerprint)
	class, what := bezoar.Timeout, "kept a worker busy past the deadline"
	if r == Faulted {
		class, what = bezoar.Bug, "broke its connection to a living worker"
	}
	ev := bezoar.Evidence{Epoch: e.id, At: time.Unix(0, now), Class: class, Detail: what, ExitCode: -1, Lane: tk.lane, InFlight: e.inFlight + 1}
	rule := state.rule(&tk.work)
	if c.state == quarantined {
		if tk.lane && now >= c.until {
			state.addEvidence(i, &ev)
			state.convict(now, i, class, what+" when it was tried again", &ev)
		}
		return
	}
	// Strikes are not tried in the lane, so that a closed gate suspends them all.
	if int(c.struck) < min(rule.Strikes, len(c.strikes)) || state.gateClosed(now) {
		return
	}
	state.addEvidence(i, &ev)
	if 1/float64(tk.prior)-2 >= provenWell && !tk.lane {
		if c.state == unheld {
			c.state, c.since, c.cause = suspected, now, class
			state.emitCase(Suspect, now, i, &ev)
		}
		return
	}
	state.convict(now, i, class, fmt.Sprintf("%s %d times within %v without one success", what, c.struck, rule.Within), &ev)
}

// strike counts one strike. Copies whose connections to one worker break
// together are one fault: it reports false for all but the first.
func (c *workCase) strike(second int32, epoch uint64, r Result) bool {
	if r == Faulted {
		if c.struck > 0 && c.faulted == epoch && second-c.strikes[c.struck-1] <= 1 {
			return false
		}
		c.faulted = epoch
	}
	c.addStrike(second)
	return true
}

func (c *workCase) addStrike(at int32) {
	if int(c.struck) == len(c.strikes) {
		copy(c.strikes[:], c.strikes[1:])
		c.struck--
	}
	c.strikes[c.struck] = at
	c.struck++
}
