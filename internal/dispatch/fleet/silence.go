package fleet

import (
	"fmt"
	"slices"
	"time"
)

// Bounds of silence.
const (
	leastPatience = 200 * time.Millisecond // with work in flight and no answer, until a worker counts as silent
	mostPatience  = 5 * time.Second
	muteAfter     = 200 * time.Millisecond // a look without an answer, until it counts as mute
	lookAgainIn   = time.Second            // between two looks at one that stays silent
	calmAfter     = 10 * time.Second       // without a look in vain until patience halves
	leastFrozen   = 3 * time.Second        // mute, until another process takes its place
	frozenTimes   = 4                      // … or this many times the longest silence that ended well
	recallFor     = 10 * time.Minute       // until that longest silence counts half
)

// silence is what is known of a worker that has fallen silent. It is guarded by Fleet.mu.
type silence struct {
	spoke  uint64    // Worker.spoke when it was last listened to
	since  time.Time // since when it has had work in flight and not answered; zero while it does
	silent bool      // it gets nothing new while others speak
	looked time.Time // when the last look at it began; zero when none has in this silence
	mute   bool      // that look has gone unanswered for a while
	frozen bool      // another process is to take its place
}

// Silence is what [Fleet.Listen] has noticed of one worker.
type Silence struct {
	Worker *Worker
	Look   bool // somebody is to look at it, with Overdue, and tell [Fleet.Looked]
	Mute   bool // with Look false: it has become mute, or speaks again
	Frozen bool // it has been mute for far longer than is usual: call [Fleet.Substitute]
}

// Listen notices workers that have fallen silent: work is in flight there, and nothing has
// been answered for longer than is usual. Such a worker may have a slow request, or it hangs
// and will be killed with all that is sent to it meanwhile. Until it answers something,
// or a look finds it well, it gets nothing new, unless no other worker speaks either. When it
// has been silent for at least three seconds, and for four times as long as any that spoke again
// lately, another process is to take its place, in [Config.LaneShare] of the places at once. A
// worker with streams keeps it, because streams would end with it. Call Listen about ten times a
// second, except while the fleet is [Fleet.Quiet].
func (f *Fleet) Listen(now time.Time) (out []Silence) {
	f.mu.Lock()
	defer f.unlock()
	if n := now.Sub(f.fooled) / calmAfter; n > 0 {
		f.patience, f.fooled = max(leastPatience, f.patience>>min(n, 62)), now
	}
	if n := now.Sub(f.spokeAt) / recallFor; n > 0 {
		f.longest, f.spokeAt = f.longest>>min(n, 62), now
	}
	f.quiet = true
	for _, s := range f.places {
		for _, w := range s.retired {
			out = f.listenTo(now, w, out)
			f.quiet = f.quiet && !w.busy()
		}
		if w := s.life; w != nil {
			if w.state == Serving || w.state == Lane {
				out = f.listenTo(now, w, out)
			}
			f.quiet = f.quiet && !w.busy()
		}
	}
	return out
}

// busy reports whether w has work in flight, apart from streams. mu is held.
func (w *Worker) busy() bool { return w.inFlight > w.streams }

// Quiet reports whether no worker has had work in flight since the last Listen, apart from streams. Then Listen can notice
// nothing until Stirred.
func (f *Fleet) Quiet() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.quiet
}

// Stirred returns a channel that gets a value when work begins after Quiet was true.
func (f *Fleet) Stirred() <-chan struct{} { return f.stirred }

// stir ends the quiet: work begins on a worker. mu is held.
func (f *Fleet) stir() {
	if !f.quiet {
		return
	}
	f.quiet = false
	select {
	case f.stirred <- struct{}{}:
	default: // nobody has taken the last one yet
	}
}

// listenTo appends what is noticed of w. mu is held.
func (f *Fleet) listenTo(now time.Time, w *Worker, out []Silence) []Silence {
	q := &w.silence
	if q.mute && !q.silent {
		q.mute = false
		out = append(out, Silence{Worker: w})
	}
	if spoke := w.spoke.Load(); spoke != q.spoke || !w.busy() {
		if q.mute {
			out = append(out, Silence{Worker: w})
			if d := now.Sub(q.since); d > f.longest {
				f.longest, f.spokeAt = d, now
			}
		}
		was := q.silent
		*q = silence{spoke: spoke}
		if was {
			f.settled(w)
		}
		return out
	}
	switch {
	case q.since.IsZero():
		q.since = now
	case now.Sub(q.since) < f.patience:
	case q.looked.IsZero() || now.Sub(q.looked) >= lookAgainIn && w.check == nil:
		q.looked = now
		out = append(out, Silence{Worker: w, Look: true})
		if !q.silent {
			q.silent = true
			f.settled(w)
		}
	case q.silent && !q.mute && now.Sub(q.looked) >= muteAfter:
		q.mute = true
		out = append(out, Silence{Worker: w, Mute: true})
	case q.mute && !q.frozen && !w.leaving && w.streams == 0 && now.Sub(q.since) >= max(leastFrozen, frozenTimes*f.longest) && f.frozen() < f.mostLanes():
		q.frozen = true
		out = append(out, Silence{Worker: w, Frozen: true})
	}
	return out
}

// frozen counts the workers in whose place others are, or are to be. mu is held.
func (f *Fleet) frozen() (n int) {
	for _, s := range f.places {
		for _, w := range append(slices.Clip(s.retired), s.life) {
			if w != nil && w.silence.frozen {
				n++
			}
		}
	}
	return n
}

// Substitute has the keeper start another process in the place of w, which finishes its work beside it. It does not
// block. A keeper that cannot start processes does nothing.
func (f *Fleet) Substitute(w *Worker) {
	f.mu.Lock()
	k, since := f.keeper, w.silence.since
	f.mu.Unlock()
	if k != nil {
		k.Substitute(w.name, w.epoch, fmt.Sprintf("it has answered nothing for %v", time.Since(since).Round(100*time.Millisecond)))
	}
}

// Looked tells what a look at a silent worker has found. One that is well has only slow work:
// the fleet is more patient from now on.
func (f *Fleet) Looked(w *Worker, h Health) {
	if h != Alive {
		return
	}
	f.mu.Lock()
	defer f.unlock()
	if q := &w.silence; q.silent {
		f.patience, f.fooled = min(mostPatience, 2*f.patience), time.Now()
		q.silent = false
		f.settled(w)
	}
}

// hearken asks whether any worker that takes work speaks: where none does, all get work. mu
// is held.
func (f *Fleet) hearken() {
	speaks, silent := false, false
	for _, s := range f.places {
		if w := s.life; w != nil && f.fit(w) {
			speaks, silent = speaks || !w.silence.silent, silent || w.silence.silent
		}
	}
	was := f.allSilent
	if f.allSilent = silent && !speaks; f.allSilent == was {
		return
	}
	for _, s := range f.places {
		switch w := s.life; {
		case w == nil || !w.silence.silent:
		case f.takes(w):
			f.offer(w)
		default:
			f.withdraw(w)
		}
	}
}
