package ledger

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// Bounds on the letters of refused copies, so that a flood of unique pills
// does not become a flood of writes.
const (
	letterQueue   = 1024
	letterRate    = 100  // new letters a second
	letterPending = 8192 // fingerprints whose further copies are counted between two flushes
)

// letters counts the copies that are refused after the first.
type letters struct {
	queue chan bezoar.Letter

	mu      sync.Mutex // guards the rest
	known   map[bezoar.Fingerprint]int64
	second  int64
	spent   int
	dropped uint64
}

func (s *letters) init() {
	s.queue = make(chan bezoar.Letter, letterQueue)
	s.known = map[bezoar.Fingerprint]int64{}
}

// count adds a copy to a letter that is known; false when it is not, or there
// is no room to know more.
func (s *letters) count(fp bezoar.Fingerprint) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.known[fp]
	if ok {
		s.known[fp] = n + 1
	}
	return ok
}

// admit reports whether one more new letter may be written now.
func (s *letters) admit(fp bezoar.Fingerprint, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sec := now.Unix(); sec != s.second {
		s.second, s.spent = sec, 0
	}
	if s.spent >= letterRate {
		s.dropped++
		return false
	}
	s.spent++
	if len(s.known) < letterPending {
		s.known[fp] = 0
	}
	return true
}

// Keeper describes work that is set aside. Its methods are called rarely.
type Keeper interface {
	Sample() string
	Keep() bezoar.Request
}

// Conclude names convicted or suspected work and, when it stands convicted,
// sets it aside as a dead letter. It returns the verdict.
func (l *Ledger) Conclude(ctx context.Context, w blame.Work, route string, k Keeper, convicted bool) (bezoar.Verdict, bool) {
	sample := k.Sample()
	l.mu.Lock()
	l.book.Describe(w.Fingerprint, sample, route)
	v, ok := l.book.Lookup(&w)
	l.mu.Unlock()
	v.Fleet = l.cfg.Fleet
	if !ok || !convicted || l.cfg.Store == nil {
		return v, ok
	}
	l.persisting.Lock()
	defer l.persisting.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if err := l.put(ctx, v); err != nil {
		l.dirty = true
		l.cfg.Log.Error("the verdict could not be stored; it holds in memory and will be written again", "verdict", v.ID, "fleet", l.cfg.Fleet, "err", err)
	}
	l.letters.admit(w.Fingerprint, time.Now())
	l.writeLetter(ctx, l.letter(w, route, k, v))
	return v, true
}

// Refused returns the verdict that refuses w and counts the copy: as a new
// letter if none is known, in the background.
func (l *Ledger) Refused(w blame.Work, route string, k Keeper) (bezoar.Verdict, bool) {
	l.mu.Lock()
	v, ok := l.book.Lookup(&w)
	l.mu.Unlock()
	v.Fleet = l.cfg.Fleet
	if !ok || l.cfg.Store == nil || l.letters.count(w.Fingerprint) {
		return v, ok
	}
	if !l.letters.admit(w.Fingerprint, time.Now()) {
		return v, ok
	}
	select {
	case l.letters.queue <- l.letter(w, route, k, v):
	default:
		l.letters.mu.Lock()
		l.letters.dropped++
		delete(l.letters.known, w.Fingerprint)
		l.letters.mu.Unlock()
	}
	return v, ok
}

func (l *Ledger) letter(w blame.Work, route string, k Keeper, v bezoar.Verdict) bezoar.Letter {
	now := time.Now()
	var id [6]byte
	_, _ = rand.Read(id[:]) // never fails since Go 1.24
	return bezoar.Letter{
		ID: "dl-" + hex.EncodeToString(id[:]), Fingerprint: w.Fingerprint, Shape: w.Shape,
		Verdict: v.ID, Fleet: l.cfg.Fleet, Route: route, Class: v.Cause, Reason: v.Reason,
		First: now, Last: now, Copies: 1, Request: k.Keep(), Evidence: v.Evidence,
	}
}

func (l *Ledger) writeLetter(ctx context.Context, m bezoar.Letter) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if _, err := l.cfg.Store.PutLetter(ctx, m); err != nil {
		l.cfg.Log.Error("the dead letter could not be stored", "fleet", l.cfg.Fleet, "fingerprint", m.Fingerprint.Short(), "err", err)
		l.letters.mu.Lock()
		l.letters.dropped++
		delete(l.letters.known, m.Fingerprint)
		l.letters.mu.Unlock()
	}
}

// flushLetters writes the queued letters and the copies counted since the last
// flush.
func (l *Ledger) flushLetters(ctx context.Context) {
	for len(l.letters.queue) > 0 {
		l.writeLetter(ctx, <-l.letters.queue)
	}
	s := &l.letters
	s.mu.Lock()
	counts := make(map[bezoar.Fingerprint]int64)
	for fp, n := range s.known {
		if n > 0 {
			counts[fp], s.known[fp] = n, 0
		}
	}
	if len(s.known) >= letterPending {
		clear(s.known)
	}
	s.mu.Unlock()
	for fp, n := range counts {
		l.mu.Lock()
		v, ok := l.book.Lookup(&blame.Work{Fingerprint: fp})
		l.mu.Unlock()
		if !ok {
			// Released meanwhile, or refused for its shape: the letter stands as it is.
			if old, err := l.cfg.Store.Letters(ctx, LetterQuery{Fleet: l.cfg.Fleet, Fingerprint: fp, Limit: 1}); err == nil && len(old) == 1 {
				v = bezoar.Verdict{ID: old[0].Verdict, Cause: old[0].Class, Reason: old[0].Reason, Evidence: old[0].Evidence}
			} else {
				continue
			}
		}
		l.writeLetter(ctx, bezoar.Letter{
			ID: "dl-000000000000", Fingerprint: fp, Verdict: v.ID, Fleet: l.cfg.Fleet, Class: v.Cause,
			Reason: v.Reason, Last: time.Now(), Copies: n, Evidence: v.Evidence,
		})
	}
}

// Forget makes the next refused copy of fp write a new letter: the old one is
// gone.
func (l *Ledger) Forget(fp bezoar.Fingerprint) {
	l.letters.mu.Lock()
	defer l.letters.mu.Unlock()
	delete(l.letters.known, fp)
}
