package poison

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// State says what is known about a payload.
type State uint8

// The states.
const (
	Watched     State = iota // it has copies; the first one goes first
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

// Case is what is known about one payload in one queue. Times are microseconds since 1970.
type Case struct {
	State   State
	Proven  bool  // a copy succeeded and nothing failed since: copies need not wait
	Strikes int   // in halves
	Level   int   // convictions so far
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
	Alone             // deliver it, and nothing with it
	Wait              // not now; a copy has to end first
	Refuse            // set it aside, undelivered
)

// Admit decides about a message whose payload has the case c, nil when there is
// none. copy says that a copy of it is in flight or has just been picked, first
// that nothing has been picked so far. When it answers Wait because of a copy
// and c is nil, the caller opens a case with [Watch].
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

// Watch opens the case of a payload that has copies.
func Watch(now int64) Case { return Case{State: Watched, Since: now, Touched: now} }

// End is how a delivery ended that did not end well.
type End struct {
	Class   bezoar.Class
	Failure string
	Reason  string
	// Weak says that nobody knows what it died of: it is half a strike less.
	Weak bool
	// Lone says that its worker vanished and was one of two at most: somebody may
	// have stopped it on purpose. The first such end makes its payload a suspect
	// and is no strike.
	Lone    bool
	Holding int // with how many messages, itself included, its worker was when it vanished; 0: it did not
	// Received is when the delivery began. One in company that began before
	// its payload was suspected adds nothing: copies that went to one worker
	// die one death.
	Received int64
}

// Fail judges the end of a delivery. c is nil when the payload has no case; it
// returns the case as it is from then on, nil for none, and whether the message
// is to be set aside.
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
	alone := e.Holding <= 1 || n.State != Watched // suspects were sent alone, whatever else their worker held
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

// Work judges a delivery that ended well: the payload is innocent. It returns
// what is left to know, nil for nothing.
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

// Accuse makes a payload suspect that proved to be poison elsewhere.
func (cfg Config) Accuse(c *Case, class bezoar.Class, reason string, now int64) *Case {
	if cfg.Off || c != nil && c.State != Watched {
		return c
	}
	n := Watch(now)
	n.State, n.Class, n.Reason = Suspect, class, reason
	return &n
}

// Forgotten reports whether nothing has happened for so long that a case is
// dropped. A convict is kept for one more term beyond its quarantine, so that
// its next conviction is longer.
func (cfg Config) Forgotten(c *Case, now int64) bool {
	last := max(c.Touched, c.Until)
	return now-last >= cfg.WithDefaults().Forget.Microseconds()
}

// briefPart is the part of a quarantine after which a brief payload is probed.
const briefPart = 15

// Brief is a case as it applies to a payload that is so short that different
// work may share it: its quarantine is over, and a copy probes, after a fifteenth
// of the term. What works releases it.
func (c *Case) Brief() *Case {
	if c == nil || c.State != Quarantined {
		return c
	}
	n := *c
	n.Until = c.Since + (c.Until-c.Since)/briefPart
	return &n
}

// Left is how long a quarantine goes on.
func (c *Case) Left(now int64) time.Duration {
	return time.Duration(max(c.Until-now, 0)) * time.Microsecond
}

// blames reports whether a failure may be the payload's fault. The rest is the
// downstream's, or nobody's.
func blames(c bezoar.Class) bool {
	switch c {
	case bezoar.Crash, bezoar.OOM, bezoar.Timeout, bezoar.Bug, bezoar.Invalid:
		return true
	case bezoar.Done, bezoar.Transient, bezoar.Throttled, bezoar.Outage, bezoar.Interrupted, bezoar.SpawnFailed:
	}
	return false
}

// strike is what a death counts, in halves.
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

// enough is how often in a row the same failure ends the retries.
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
	return 1 << 30 // timeouts keep the whole budget
}
