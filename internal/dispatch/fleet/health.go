package fleet

import (
	"cmp"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/policy/balance"
)

// Opinion is the content of a [Judgement].
type Opinion string

// The opinions.
const (
	Sick     Opinion = "unhealthy" // its health checks fail
	Well     Opinion = "healthy"   // and succeed again
	Ejected  Opinion = "ejected"   // its answers make it an outlier
	Returned Opinion = "returned"  // its time out is over
	Panic    Opinion = "panic"     // too few workers look healthy: opinions are distrusted
	Calm     Opinion = "calm"      // they are believed again
)

// Judgement is a changed opinion about a worker or, with an empty Worker, about the fleet.
type Judgement struct {
	Worker  string
	Epoch   uint64
	Opinion Opinion
	Detail  string    // for people
	Until   time.Time // of Ejected
}

// Tune changes cfg's MaxInFlight, SlowStart, Eject and PanicBelow while the fleet runs. Work in flight beyond a lower
// MaxInFlight goes on; ejected workers stay ejected for their time. On error nothing changes.
func (f *Fleet) Tune(cfg Config) error {
	cfg.Name = f.cfg.Name
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("tune fleet %s: %w", f.cfg.Name, err)
	}
	cfg = cfg.withDefaults()
	f.eject.Store(&cfg.Eject)
	f.mu.Lock()
	f.cfg.SlowStart, f.cfg.PanicBelow, f.cfg.MaxInFlight, f.cfg.LaneShare = cfg.SlowStart, cfg.PanicBelow, cfg.MaxInFlight, cfg.LaneShare
	f.believe()
	for _, s := range f.places {
		if w := s.life; w != nil && f.full(w) {
			f.withdraw(w)
		} else if w != nil {
			f.offer(w)
		}
	}
	f.serve(nil)
	f.unlock()
	f.changed()
	return nil
}

// heldOut reports whether an opinion speaks against giving w work. The caller holds mu.
func (w *Worker) heldOut() bool { return w.sick != "" || w.ejected != nil }

// Observe records the result of one attempt in the fleet, once per attempt. Do not record attempts in the lane: work there
// is suspect already.
func (f *Fleet) Observe(now time.Time, w *Worker, o balance.Outcome) {
	if !o.Failed {
		w.spoke.Add(1)
	}
	if !o.Failed && o.Status < 500 {
		w.answered.Add(1)
	}
	w.recordMu.Lock()
	suspect := w.record.Add(now, f.eject.Load(), o)
	w.recordMu.Unlock()
	if suspect {
		f.consider(w, now)
	}
}

// consider compares w with the others, and ejects it if it is an outlier.
func (f *Fleet) consider(w *Worker, now time.Time) {
	f.mu.Lock()
	why, ok := f.outlier(w, now)
	if !ok {
		f.mu.Unlock()
		return
	}
	w.recordMu.Lock()
	until := w.record.Eject(now, f.eject.Load(), f.rand.Float64())
	w.recordMu.Unlock()
	w.until = until
	w.ejected = time.AfterFunc(until.Sub(now), func() { f.readmit(w) })
	f.ejections++
	f.note(Judgement{Worker: w.name, Epoch: w.epoch, Opinion: Ejected, Detail: why, Until: until})
	f.settled(w)
	f.unlock()
	f.changed()
}

// outlier reports whether w should be, and may be, ejected. The caller holds mu.
func (f *Fleet) outlier(w *Worker, now time.Time) (why string, ok bool) {
	if w.state != Serving || w.heldOut() || balance.Panic(f.up, f.well-1, f.cfg.PanicBelow) {
		return "", false
	}
	out, e := 0, f.eject.Load()
	f.samples = f.samples[:0]
	for _, s := range f.places {
		switch o := s.life; {
		case o == nil || o == w:
		case o.ejected != nil:
			out++
		case o.sick == "":
			o.recordMu.Lock()
			f.samples = append(f.samples, o.record.Sample(now, e.Window))
			o.recordMu.Unlock()
		}
	}
	if out >= e.Allowed(f.up) {
		return "", false
	}
	w.recordMu.Lock()
	defer w.recordMu.Unlock()
	return e.Judge(now, &w.record, f.samples)
}

// readmit ends an ejection.
func (f *Fleet) readmit(w *Worker) {
	f.mu.Lock()
	if w.ejected == nil {
		f.mu.Unlock()
		return
	}
	w.ejected = nil
	f.freshen(w)
	f.note(Judgement{Worker: w.name, Epoch: w.epoch, Opinion: Returned, Detail: "its ejection is over"})
	f.settled(w)
	f.unlock()
	f.changed()
}

// Sick reports, after each failed health check, that the checks of an epoch fail. It returns whether the worker is held out
// for it now. In panic mode it is not held out, and must not be treated worse than that.
func (f *Fleet) Sick(worker string, epoch uint64, why string) (out bool) {
	why = cmp.Or(why, "its health checks fail")
	f.mu.Lock()
	w := f.find(worker, epoch)
	if w == nil {
		f.mu.Unlock()
		return false
	}
	news := w.sick == ""
	w.sick = why
	if news {
		f.note(Judgement{Worker: worker, Epoch: epoch, Opinion: Sick, Detail: why})
		f.settled(w)
	}
	out = !f.panic
	f.unlock()
	if news {
		f.changed()
	}
	return out
}

// Well undoes [Fleet.Sick].
func (f *Fleet) Well(worker string, epoch uint64) {
	f.mu.Lock()
	w := f.find(worker, epoch)
	if w == nil || w.sick == "" {
		f.mu.Unlock()
		return
	}
	w.sick = ""
	f.freshen(w)
	f.note(Judgement{Worker: worker, Epoch: epoch, Opinion: Well, Detail: "its health checks succeed"})
	f.settled(w)
	f.unlock()
	f.changed()
}

// Panic reports whether health is ignored now, so that all workers that are up get traffic.
func (f *Fleet) Panic() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.panic
}

// settled makes w, whose state has changed, available or not, checks for panic mode, and serves waiters. The caller holds
// mu.
func (f *Fleet) settled(w *Worker) {
	f.believe()
	f.hearken()
	if f.takes(w) {
		f.offer(w)
	} else {
		f.withdraw(w)
	}
	f.serve(nil)
}

// believe checks whether the fleet must enter or leave panic mode. The caller holds mu.
func (f *Fleet) believe() {
	up, well := 0, 0
	for _, s := range f.places {
		if w := s.life; w != nil && s.weight > 0 && (w.state == Serving || w.state == Lane) {
			up++
			if !w.heldOut() {
				well++
			}
		}
	}
	f.up, f.well = up, well
	is := balance.Panic(up, well, f.cfg.PanicBelow)
	if is == f.panic {
		return
	}
	f.panic = is
	detail := fmt.Sprintf("%d of %d workers look healthy, the limit is %.0f %%", well, up, 100*f.cfg.PanicBelow)
	if is {
		f.panics, f.panicSince = f.panics+1, time.Now()
		f.note(Judgement{Opinion: Panic, Detail: detail + ": health checks are ignored, and all workers get work"})
	} else {
		f.panicSince = time.Time{}
		f.note(Judgement{Opinion: Calm, Detail: detail})
	}
	for _, s := range f.places {
		switch w := s.life; {
		case w == nil || !w.heldOut():
		case f.takes(w):
			f.offer(w)
		default:
			f.withdraw(w)
		}
	}
}

// note keeps a judgement for unlock to report. The caller holds mu.
func (f *Fleet) note(j Judgement) {
	if f.cfg.Judged != nil {
		f.notes = append(f.notes, j)
	}
}

// unlock releases mu and reports the judgements that were made under it.
func (f *Fleet) unlock() {
	notes := f.notes
	f.notes = nil
	f.mu.Unlock()
	for _, j := range notes {
		f.cfg.Judged(j)
	}
}
