package outbox

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// verdict is the interpretation of a batch's results.
type verdict struct {
	done  *Settlement
	worth int // delivered events
	bytes int64
	// place is the error of the destination, or nil if it works.
	place error
	after time.Duration // the pause that the destination requested
}

// batch is a flight with the records to send.
type batch struct {
	flight  *Flight
	records []Record
	unsent  []Record // records that cannot be read, and later records of the same keys
	why     []error  // one reason per record of unsent
}

func batchOf(f *Flight, records []Record) batch {
	b := batch{flight: f, records: records}
	if !slices.ContainsFunc(records, func(r Record) bool { return r.Fault != "" }) {
		return b
	}
	b.records = nil
	held := make(map[string]bool)
	for _, r := range records {
		switch {
		case r.Fault != "":
			held[r.Key] = r.Key != ""
			b.unsent, b.why = append(b.unsent, r), append(b.why, &Failure{Class: bezoar.Invalid, Reason: r.Fault})
		case held[r.Key]:
			b.unsent, b.why = append(b.unsent, r), append(b.why, ErrBehind)
		default:
			b.records = append(b.records, r)
		}
	}
	return b
}

// judge interprets the results of a batch: which events were delivered, whether the event
// or the destination caused each failure, and when to try again. results has one entry per
// record that was sent. A ref of the flight without a record has lost its payload. calm
// reports whether the sink's last call succeeded.
func (l *leader) judge(b batch, results []error, sink string, calm bool) verdict {
	f, records := b.flight, b.records
	v := verdict{done: &Settlement{Flight: f.ID}}
	result := make(map[int64]error, len(results))
	there := make(map[int64]bool, len(records))
	for i, r := range records {
		there[r.Position] = true
		result[r.Position] = errors.New("the sink gave no result")
		if i < len(results) {
			result[r.Position] = results[i]
		}
		if result[r.Position] == nil {
			v.bytes += int64(len(r.Payload))
		}
	}
	for i, r := range b.unsent {
		there[r.Position], result[r.Position] = true, b.why[i]
	}
	var away []Ref // failed because of the destination
	own := 0
	for _, ref := range f.Refs {
		err := result[ref.Position]
		switch {
		case !there[ref.Position]:
			own++
			v.done.Failed = append(v.done.Failed, l.blame(ref, Evidence{Class: bezoar.Invalid.String(), Reason: "the event's payload is no longer in the database", Sink: sink}))
		case err == nil:
			v.done.Delivered = append(v.done.Delivered, ref.Position)
		case errors.Is(err, ErrBehind):
		case ownFault(err):
			own++
			v.done.Failed = append(v.done.Failed, l.blame(ref, l.evidence(err, sink)))
		default:
			away = append(away, ref)
			v.place, v.after = cmp.Or(v.place, err), max(v.after, askedWait(err))
		}
	}
	v.worth = len(v.done.Delivered)
	alone := len(f.Refs) == 1
	if few := 2*len(away) < len(away)+v.worth+own; len(away) > 0 && (few || alone) {
		// The destination accepted other events, or the next batch shall find out.
		for _, ref := range away {
			v.done.Failed = append(v.done.Failed, l.putOff(ref, l.evidence(result[ref.Position], sink)))
		}
		if few || calm && f.Refs[0].Attempts > 0 {
			v.place = nil
		}
	}
	return v
}

func ownFault(err error) bool {
	f, ok := errors.AsType[*Failure](err)
	return ok && (f.Class == bezoar.Invalid || f.Class == bezoar.Bug)
}

func askedWait(err error) time.Duration {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.RetryAfter
	}
	return 0
}

func (l *leader) evidence(err error, sink string) Evidence {
	e := Evidence{Class: bezoar.Transient.String(), Reason: err.Error(), Sink: sink}
	if f, ok := errors.AsType[*Failure](err); ok {
		e.Class, e.Reason = f.Class.String(), f.Reason
	}
	return e
}

// sign adds the time and the relay to the evidence.
func (l *leader) sign(e Evidence) Evidence {
	const long = 4 << 10
	if len(e.Reason) > long {
		e.Reason = e.Reason[:long] + " …"
	}
	e.Relay, e.Epoch, e.Time = l.c.Owner, l.epoch, time.Now().UTC()
	return e
}

// blame counts an attempt against an event.
func (l *leader) blame(ref Ref, e Evidence) Setback {
	s := Setback{Position: ref.Position, Attempts: ref.Attempts + 1, Blamed: ref.Blamed + 1, Evidence: l.sign(e)}
	s.Parked = s.Blamed >= l.c.ParkAfter
	s.Wait = l.c.Retry.Wait(s.Blamed-1, rand.Float64()) //nolint:gosec // jitter
	return s
}

// putOff schedules a retry without counting the attempt against the event.
func (l *leader) putOff(ref Ref, e Evidence) Setback {
	s := Setback{Position: ref.Position, Attempts: ref.Attempts + 1, Blamed: ref.Blamed, Evidence: l.sign(e)}
	s.Wait = max(l.c.Retry.Wait(s.Attempts-1, rand.Float64()), time.Millisecond) //nolint:gosec // jitter
	return s
}

// blameAll counts an attempt against every event of a flight with an unknown outcome. The
// first time, the events are sent again at once, each alone. An event that was blamed
// before waits, so that others can go first.
func (l *leader) blameAll(f Flight, e Evidence) *Settlement {
	done := &Settlement{Flight: f.ID}
	for _, ref := range f.Refs {
		s := l.blame(ref, e)
		s.Parked = s.Parked && len(f.Refs) == 1 // another event of the flight may be the cause
		if ref.Blamed == 0 {
			s.Wait = 0
		}
		done.Failed = append(done.Failed, s)
	}
	return done
}

// panicked returns the failure of a sink that panicked.
func panicked(value any) error {
	return &Failure{Class: bezoar.Bug, Reason: fmt.Sprintf("the sink panicked: %v", value)}
}
