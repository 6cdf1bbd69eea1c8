package sim

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Aim is what an attacker's requests ask for.
type Aim int

// The aims.
const (
	AtHome    Aim = iota // what everybody asks for
	AtRare               // what hardly anybody asks for
	AtSearch             // one of many of a shape
	AtUnique             // no two alike, of a shape that innocents have
	AtOrders             // no two alike, and not replayable
	AtNowhere            // no two alike, of a shape that nobody has
	aims
)

// Poison is how an attacker's requests differ from those of innocents.
type Poison int

// The poisons.
const (
	InNothing Poison = iota // but in who sends them
	InHeader
	InValues // a header with another value each time
	InCookie
	poisons
)

// Manner is how an attacker's requests kill.
type Manner int

// The manners.
const (
	AtOnce    Manner = iota
	Soon             // after 300 ms
	Slowly           // after 3 s
	JustAfter        // 5 ms after its answer
	LongAfter        // 2 s after it
	Leaving          // after 100 ms, when its caller hung up before
	Harmless         // not at all: what is there at each death
	manners
)

// Tactic is one stream of a strategy.
type Tactic struct {
	Aim     Aim
	Poison  Poison
	Manner  Manner
	Tenths  int // requests in ten seconds
	Burst   int
	Callers int // who share the work
}

// Stream returns what the tactic sends.
func (t Tactic) Stream() Stream {
	return Stream{Rate: float64(t.Tenths) / 10, Burst: t.Burst, Make: t.shot}
}

func (t Tactic) shot(n int, r *rand.Rand) Shot {
	var s Shot
	switch t.Aim {
	case AtHome:
		s = get("/", 2*time.Millisecond)
	case AtRare:
		s = get("/help/7", 3*time.Millisecond)
	case AtSearch:
		s = get("/search?q=77", 8*time.Millisecond)
	case AtUnique:
		s = get(fmt.Sprint("/search?q=neon-", r.Uint32()), 8*time.Millisecond)
	case AtOrders:
		s = post("/orders", fmt.Sprintf("item=%d&count=2&kind=neon", r.Uint32()), 6*time.Millisecond)
	default:
		s = get(fmt.Sprint("/nowhere?n=", r.Uint32()), 6*time.Millisecond)
	}
	s = evil(s)
	s.Caller = fmt.Sprint(attacker, " ", n%max(1, t.Callers))
	switch t.Poison {
	case InHeader:
		s = theme(s, neon)
	case InValues:
		s = theme(s, fmt.Sprint(neon, r.Uint32()))
	case InCookie:
		s = s.with("cookie", "look", neon)
	default:
	}
	switch t.Manner {
	case Soon:
		s.Kill = 300 * time.Millisecond
	case Slowly:
		s.Kill = 3 * time.Second
	case JustAfter:
		s.Kill, s.Late = 0, 5*time.Millisecond
	case LongAfter:
		s.Kill, s.Late = 0, 2*time.Second
	case Leaving:
		s.Kill, s.HangUp = 100*time.Millisecond, 50*time.Millisecond
	case Harmless:
		s.Kill, s.Service = 0, time.Second
	default:
	}
	return s
}
