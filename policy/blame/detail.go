package blame

import (
	"fmt"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// maxDetails bounds the cases whose evidence is held in memory. The oldest
// detail makes room; the verdict itself stays, and stores keep what was emitted.
const maxDetails = 4096

// detail is what people want to read about a case.
type detail struct {
	kase     uint32
	route    string
	sample   string
	reason   string
	evidence []bezoar.Evidence
}

func (b *Book) detailOf(i uint32) *detail {
	c := &b.cases[i]
	if c.detail != none {
		return &b.details[c.detail]
	}
	d := uint32(len(b.details))
	if n := len(b.freeD); n > 0 {
		d = b.freeD[n-1]
		b.freeD = b.freeD[:n-1]
	} else if len(b.details) < maxDetails {
		b.details = append(b.details, detail{})
	} else {
		d = b.nextD % maxDetails
		b.nextD++
		if old := b.details[d].kase; old != none {
			b.cases[old].detail = none
		}
	}
	b.details[d] = detail{kase: i}
	c.detail = d
	return &b.details[d]
}

func (b *Book) dropDetail(i uint32) {
	c := &b.cases[i]
	if c.detail == none {
		return
	}
	b.details[c.detail] = detail{kase: none}
	b.freeD = append(b.freeD, c.detail)
	c.detail = none
}

func (b *Book) addEvidence(i uint32, ev *bezoar.Evidence) {
	d := b.detailOf(i)
	if len(d.evidence) == bezoar.MaxEvidence {
		d.evidence = d.evidence[1:]
	}
	// The slice may have been handed out: append to a copy.
	d.evidence = append(slices.Clip(d.evidence), *ev)
}

// Describe tells the book what people call the work of fp: a sample of at most
// 200 bytes without secrets, and its route.
func (b *Book) Describe(fp bezoar.Fingerprint, sample, route string) {
	if i, ok := b.byFP[fp]; ok && b.cases[i].state != unheld {
		d := b.detailOf(i)
		d.sample, d.route = sample[:min(len(sample), 200)], route
	}
}

// verdictOf builds the verdict of case i.
func (b *Book) verdictOf(i uint32) bezoar.Verdict {
	c := &b.cases[i]
	if c.id == 0 {
		c.id = b.newID()
	}
	v := bezoar.Verdict{
		ID: verdictID(c.id), Scope: bezoar.ScopeWork, State: c.name(),
		Fingerprint: c.work.Fingerprint, Shape: c.work.Shape,
		Cause: c.cause, Score: c.score(), Level: int(c.level),
		Since: time.Unix(0, c.since), Refused: c.refused, Manual: c.manual,
	}
	if c.state == quarantined {
		v.Until = time.Unix(0, c.until)
	}
	if c.detail != none {
		d := &b.details[c.detail]
		v.Reason, v.Sample, v.Route, v.Evidence = d.reason, d.sample, d.route, d.evidence
	}
	if v.Reason == "" && c.state == suspected {
		v.Reason = suspicionReason(int(c.crashes), v.Score)
	}
	return v
}

func (c *kase) name() bezoar.State {
	switch c.state {
	case suspected:
		return bezoar.Suspected
	case quarantined:
		if c.claim != none {
			return bezoar.Probing
		}
		return bezoar.Quarantined
	case conditional:
		return bezoar.Conditional
	}
	return ""
}

func (b *Book) newID() uint64 { return b.cfg.Rand.Uint64()>>16 | 1<<40 }

func verdictID(id uint64) string { return fmt.Sprintf("q-%012x", id&(1<<48-1)) }
