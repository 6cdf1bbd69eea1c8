package blame

import (
	"time"

	"github.com/bezoar-dev/bezoar"
)

// death is one epoch's end in the fleet, as the gate sees it.
type death struct {
	at       int64
	worker   string
	unproven []bezoar.Fingerprint // exact work that may explain it
	shapes   []bezoar.Fingerprint // shapes that have hardly ever succeeded
	odd      bool                 // idle, or work of a shape that used to run
	base     uint64               // the state's successes at the time
}

// failedStart is the death of a worker that had never answered anything.
type failedStart struct {
	at       int64
	suspects []bezoar.Fingerprint
}

type failedAttempt struct {
	at int64
	fp bezoar.Fingerprint
}

func (g *gate) success(now int64) {
	s := now / int64(time.Second)
	a := &g.answers[s%int64(len(g.answers))]
	if a.second != s {
		a.second, a.count = s, 0
	}
	a.count++
}

func (g *gate) successes(now, window int64) (n uint32) {
	s := now / int64(time.Second)
	for i := range g.answers {
		if a := &g.answers[i]; a.second <= s && s-a.second <= window/int64(time.Second) {
			n += a.count
		}
	}
	return n
}
