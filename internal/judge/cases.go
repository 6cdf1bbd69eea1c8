package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/state/facts"
	"github.com/bezoar-dev/bezoar/policy/poison"
)

// MaxCases bounds the cases of a fact store. roomFor is how many are dropped at once when it is reached.
const (
	MaxCases = 10_000
	roomFor  = 500
)

// Case is the state of a payload.
type Case struct {
	poison.Case
	Times int          // how often in a row it ended in this failure
	First int64        // when it first did so
	Voted bezoar.Class // and in which class
}

func (l *Local) caseKey(p bezoar.Fingerprint) string { return "case/" + l.cfg.Queue + "/" + p.String() }

func (l *Local) message(tx *facts.Tx, now time.Time, e Ending, s *Sentence) error {
	if e.Class == bezoar.Throttled || e.Class == bezoar.Outage || e.Class == bezoar.Transient {
		e.Votes = 0 // a transient failure is never poison, however often it occurs
	}
	key := l.caseKey(e.Payload)
	var c Case
	var was *poison.Case
	known, err := tx.Get(key, &c)
	if err != nil {
		return err
	}
	if known {
		was = &c.Case
	}
	repeated := c.vote(e, now)
	end := poison.End{Class: e.Class, Reason: e.Reason, Holding: e.Holding, Weak: e.Weak, Received: e.Received.UnixMicro()}
	next, dead := l.cfg.Poison.Fail(was, end, now.UnixMicro())
	if next == nil {
		return nil
	}
	c.Case = *next
	c.Case.Failure = e.Failure
	switch {
	case dead:
		s.Dead, s.Why = true, fmt.Sprintf("its payload is convicted: %s", c.Reason)
	case repeated:
		s.Dead, s.Why = true, fmt.Sprintf("the same failure %d times", c.Times)
	}
	return l.keep(tx, now, key, c)
}

// vote counts a failure, and reports whether it has occurred often enough.
func (c *Case) vote(e Ending, now time.Time) bool {
	if e.Failure == "" || e.Failure != c.Failure || e.Class != c.Voted || c.Times == 0 {
		c.Times, c.First, c.Voted = 0, now.UnixMicro(), e.Class
	}
	c.Times++
	least := poison.SameBug
	if e.Class == bezoar.Crash || e.Class == bezoar.OOM {
		least = poison.SameCrash
	}
	span := time.Duration(now.UnixMicro()-c.First) * time.Microsecond
	return e.Failure != "" && e.Votes > 0 && e.Class != bezoar.Timeout && c.Times >= max(e.Votes, least) && span >= e.Span
}

// keep stores a case, and makes room for it.
func (l *Local) keep(tx *facts.Tx, now time.Time, key string, c Case) error {
	var old Case
	if known, err := tx.Get(key, &old); err != nil {
		return err
	} else if !known && tx.Len() >= MaxCases {
		l.makeRoom(tx, now)
	}
	return tx.Put(key, c)
}

// makeRoom drops expired cases first, and then the ones that were touched longest ago.
func (l *Local) makeRoom(tx *facts.Tx, now time.Time) {
	type found struct {
		key string
		Case
	}
	var all []found
	for key, fact := range tx.All("case/") {
		f := found{key: key}
		if json.Unmarshal(fact, &f.Case) != nil || l.cfg.Poison.Forgotten(&f.Case.Case, now.UnixMicro()) {
			tx.Drop(key)
			continue
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b found) int {
		if a.State != b.State {
			return int(a.State) - int(b.State) // watched, suspect, quarantined
		}
		return int(min(max(a.Touched-b.Touched, -1), 1))
	})
	for i := 0; i < len(all) && len(all)-i > MaxCases-roomFor; i++ {
		tx.Drop(all[i].key)
	}
}
