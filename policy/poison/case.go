package poison

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// State is the state of a payload.
type State uint8

// The states.
const (
	Watched     State = iota // it has copies: one runs first, the others wait
	Suspect                  // it runs alone
	Quarantined              // it is refused until Until, then one copy probes
)

// String returns the state's stable name.
func (s State) String() string {
	if names := [...]string{"watched", "suspect", "quarantined"}; int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// Case is the state of one payload in one queue. Times are microseconds since 1970.
type Case struct {
	State   State
	Proven  bool  // a copy succeeded and nothing has failed since, so copies need not wait
	Strikes int   // in half strikes
	Level   int   // number of convictions
	Since   int64 // when State began
	Touched int64 // when the case last changed
	Until   int64 // when the quarantine ends
	Same    int   // how often in a row it ended with this Class and Failure
	Class   bezoar.Class
	Failure string // failure fingerprint
	Reason  string // why it is suspected or refused, for people
}

// Admission says what a receive may do with a visible message.
type Admission uint8

// The admissions.
const (
	Deliver Admission = iota
	Alone             // deliver it, and nothing else with it
	Wait              // not now; a copy must end first
	Refuse            // set it aside, undelivered
)

// Admit decides about a message whose payload has the case c; nil for none. copied says that a copy of it is in flight or
// was just picked; first says that nothing has been picked so far. If it returns Wait because of a copy and c is nil, the
// caller must open a case with [Watch].
func (cfg Config) Admit(c *Case, copied, first bool, now int64) Admission {
	switch {
	case cfg.Off:
		return Deliver
	case c == nil || c.State == Watched:
		if copied && (c == nil || !c.Proven) {
			return Wait
		}
		return Deliver
	case c.State == Quarantined && now < c.Until:
		return Refuse
	case copied || !first:
		return Wait
	}
	return Alone
}

// Watch returns the case of a payload that has copies.
func Watch(now int64) Case { return Case{State: Watched, Since: now, Touched: now} }

// End is the end of a delivery that did not end well.
type End struct {
	Class   bezoar.Class
	Failure string
	Reason  string
	// Weak says that the cause of its death is unknown: then it counts half a strike less.
	Weak bool
	// Lone says that its worker vanished and was one of at most two: somebody may have stopped it on purpose. The first
	// such end makes its payload a suspect and is no strike.
	Lone    bool
	Holding int // how many messages, including itself, its vanished worker had; 0: its worker did not vanish
	// Received is when the delivery began. An end in company counts nothing if the delivery began before its payload became
	// suspect: copies on one worker die one death.
	Received int64
}

// Fail judges the end of a delivery. c is nil if the payload has no case. It returns the new case, nil for none, and
// whether the message must be set aside.
func (cfg Config) Fail(c *Case, e End, now int64) (next *Case, dead bool) {
	cfg = cfg.WithDefaults()
	if cfg.Off || !blames(e.Class) {
		return c, false
	}
	n := Watch(now)
	if c != nil {
		n = *c
	}
	n.Touched, n.Proven = now, false
	if e.Holding > 1 && n.State != Watched && e.Received < n.Since {
		return &n, false
	}
	alone := e.Holding <= 1 || n.State != Watched // suspects were sent alone, whatever else their worker had
	halves := e.strike()
	if strike(e.Class) > 0 && n.State == Watched {
		n.State, n.Since = Suspect, now
		if e.Lone {
			halves = 0
		}
	}
	if n.Same > 0 && n.Class == e.Class && n.Failure == e.Failure && e.Failure != "" {
		n.Same++
	} else {
		n.Same = 1
	}
	n.Class, n.Failure, n.Reason = e.Class, e.Failure, e.Reason
	n.Strikes += halves
	if !alone {
		return &n, false
	}
	if n.State == Quarantined || n.Strikes >= 2*cfg.After {
		n.convict(cfg, now)
		return &n, true
	}
	return &n, n.Same >= enough(e.Class)
}

// convict begins a quarantine, or the next, longer one.
func (c *Case) convict(cfg Config, now int64) {
	term := cfg.For
	for range c.Level {
		if term = min(2*term, cfg.Max); term == cfg.Max {
			break
		}
	}
	c.State, c.Since, c.Until = Quarantined, now, now+term.Microseconds()
	c.Level++
}

// Work judges a delivery that ended well: the payload is innocent. It returns the new case; nil for none.
func (cfg Config) Work(c *Case, now int64) *Case {
	if cfg.Off || c == nil {
		return c
	}
	if c.State == Watched {
		n := *c
		n.Proven, n.Touched = true, now
		return &n
	}
	n := Watch(now)
	n.Proven = true
	return &n
}

// Accuse makes a payload suspect that is poison elsewhere.
func (cfg Config) Accuse(c *Case, class bezoar.Class, reason string, now int64) *Case {
	if cfg.Off || c != nil && c.State != Watched {
		return c
	}
	n := Watch(now)
	n.State, n.Class, n.Reason = Suspect, class, reason
	return &n
}

// Forgotten reports whether nothing has happened for so long that a case may be dropped. A convict is kept for one more
// term after its quarantine, so that its next conviction is longer.
func (cfg Config) Forgotten(c *Case, now int64) bool {
	last := max(c.Touched, c.Until)
	return now-last >= cfg.WithDefaults().Forget.Microseconds()
}

// briefPart is the divisor of the quarantine of a brief payload.
const briefPart = 15

// Brief returns a case as it applies to a payload that is so short that different work may share it: its quarantine ends
// after a fifteenth of the term, and then a copy probes. A success releases it.
func (c *Case) Brief() *Case {
	if c == nil || c.State != Quarantined {
		return c
	}
	n := *c
	n.Until = c.Since + (c.Until-c.Since)/briefPart
	return &n
}

// Left returns how much of a quarantine is left.
func (c *Case) Left(now int64) time.Duration {
	return time.Duration(max(c.Until-now, 0)) * time.Microsecond
}

// blames reports whether a failure may be the payload's fault. Otherwise it is the downstream's, or nobody's.
func blames(c bezoar.Class) bool {
	switch c {
	case bezoar.Crash, bezoar.OOM, bezoar.Timeout, bezoar.Bug, bezoar.Invalid:
		return true
	case bezoar.Done, bezoar.Transient, bezoar.Throttled, bezoar.Outage, bezoar.Interrupted, bezoar.SpawnFailed:
	}
	return false
}

// strike returns how many half strikes a death counts.
func strike(c bezoar.Class) int {
	switch c {
	case bezoar.Crash, bezoar.OOM:
		return 2
	case bezoar.Timeout:
		return 1
	case bezoar.Done, bezoar.Transient, bezoar.Throttled, bezoar.Outage, bezoar.Invalid, bezoar.Bug, bezoar.Interrupted, bezoar.SpawnFailed:
	}
	return 0
}

func (e *End) strike() int {
	if n := strike(e.Class); !e.Weak || n == 0 {
		return n
	}
	return 1
}

// enough returns how often in a row the same failure ends the retries.
func enough(c bezoar.Class) int {
	switch c {
	case bezoar.Crash, bezoar.OOM:
		return SameCrash
	case bezoar.Invalid:
		return SameInvalid
	case bezoar.Bug:
		return SameBug
	case bezoar.Done, bezoar.Transient, bezoar.Throttled, bezoar.Outage, bezoar.Timeout, bezoar.Interrupted, bezoar.SpawnFailed:
	}
	return 1 << 30 // timeouts get the complete budget
}
