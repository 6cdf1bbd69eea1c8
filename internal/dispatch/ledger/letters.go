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

// Bounds on the letters of refused copies, so that many unique pills do not cause many writes.
const (
	letterQueue   = 1024
	letterRate    = 100  // new letters per second
	letterPending = 8192 // letters whose further copies are counted between two flushes
)

// letters counts refused copies after the first one.
type letters struct {
	queue chan bezoar.Letter

	mu      sync.Mutex                   // guards the rest
	known   map[bezoar.Fingerprint]int64 // by key
	second  int64
	spent   int
	dropped uint64
}

func (s *letters) init() {
	s.queue = make(chan bezoar.Letter, letterQueue)
	s.known = map[bezoar.Fingerprint]int64{}
}

// count adds a copy to a known letter; false if the letter is not known, or there is no room for more.
func (s *letters) count(key bezoar.Fingerprint) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.known[key]
	if ok {
		s.known[key] = n + 1
	}
	return ok
}

// admit reports whether one more new letter may be written now.
func (s *letters) admit(key bezoar.Fingerprint, now time.Time) bool {
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
		s.known[key] = 0
	}
	return true
}

// put queues a letter. If there is no room, the next copy tries again.
func (s *letters) put(m bezoar.Letter) {
	select {
	case s.queue <- m:
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.dropped++
		delete(s.known, m.Key())
	}
}

// take returns the copies counted since the last call.
func (s *letters) take() map[bezoar.Fingerprint]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[bezoar.Fingerprint]int64{}
	for key, n := range s.known {
		if n > 0 {
			counts[key], s.known[key] = n, 0
		}
	}
	if len(s.known) >= letterPending {
		clear(s.known)
	}
	return counts
}

// giveBack restores counts that could not be written.
func (s *letters) giveBack(counts map[bezoar.Fingerprint]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, n := range counts {
		if _, ok := s.known[key]; ok || len(s.known) < letterPending {
			s.known[key] += n
		}
	}
}

// Keeper describes work that is set aside. Its methods are called rarely.
type Keeper interface {
	Sample() string
	Keep() bezoar.Request
}

// Conclude names convicted or suspected work and returns its verdict. If the work is convicted, Conclude sets it aside as a
// dead letter of its variant, which has killed.
func (l *Ledger) Conclude(ctx context.Context, w blame.Work, route string, k Keeper, convicted bool) (bezoar.Verdict, bool) {
	sample := k.Sample()
	l.locked(func(time.Time) { l.state.Describe(&w, sample, route) })
	v, ok := l.lookup(&w)
	if ok && convicted && l.cfg.Store != nil {
		l.setAside(ctx, w, route, k, v)
	}
	return v, ok
}

// setAside stores the verdict, with the current name of its work, and the letter.
func (l *Ledger) setAside(ctx context.Context, w blame.Work, route string, k Keeper, v bezoar.Verdict) {
	m := l.letter(w, route, k, v)
	if w.Variant.IsZero() && w.Traits != nil {
		w.Variant = w.Traits.Variant()
	}
	m.Variant = variantOf(&w)
	l.letters.admit(m.Key(), time.Now())
	if l.putAgain(ctx, &w, v.ID) || !l.writeLetter(ctx, m) {
		l.letters.put(m)
		l.persisting.Lock()
		l.behind, l.missed = true, true // the next conviction need not wait for the store
		l.persisting.Unlock()
	}
}

// putAgain stores the current verdict, unless it was released meanwhile, and reports whether the store is behind.
func (l *Ledger) putAgain(ctx context.Context, w *blame.Work, id string) (behind bool) {
	l.persisting.Lock()
	defer l.persisting.Unlock()
	if now, ok := l.lookup(w); ok && now.ID == id {
		l.put(ctx, now)
	}
	return l.behind
}

// variantOf returns w's variant, if more than its fingerprint is known.
func variantOf(w *blame.Work) bezoar.Fingerprint {
	if w.Variant == w.Fingerprint {
		return bezoar.Fingerprint{}
	}
	return w.Variant
}

// Refused returns the verdict that refuses w, and counts the copy. If no letter is known, it writes one in the background.
// Copies of a convicted variant belong to its letter. Work that is refused for a wider level shares one letter per
// fingerprint, so that many variants do not displace other letters.
func (l *Ledger) Refused(w blame.Work, route string, k Keeper) (bezoar.Verdict, bool) {
	v, ok := l.lookup(&w)
	if !ok || l.cfg.Store == nil {
		return v, ok
	}
	key, variant := w.Fingerprint, bezoar.Fingerprint{}
	if v.Scope == bezoar.ScopeVariant {
		if variant = variantOf(&w); !variant.IsZero() {
			key = variant
		}
	}
	if l.letters.count(key) || !l.letters.admit(key, time.Now()) {
		return v, ok
	}
	m := l.letter(w, route, k, v)
	m.Variant = variant
	l.letters.put(m)
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

// writeLetter stores m; false on error.
func (l *Ledger) writeLetter(ctx context.Context, m bezoar.Letter) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if _, err := l.cfg.Store.PutLetter(ctx, m); err != nil {
		l.storing.Failed("store the dead letter of "+m.Fingerprint.Short(), err)
		return false
	}
	return true
}

// flushLetters writes the queued letters and the copies counted since the last flush. It stops at the first error and
// returns false.
func (l *Ledger) flushLetters(ctx context.Context) bool {
	for len(l.letters.queue) > 0 {
		if ctx.Err() != nil {
			return false
		}
		m := <-l.letters.queue
		if !l.writeLetter(ctx, m) {
			l.letters.put(m)
			return false
		}
	}
	counts := l.letters.take()
	for key, n := range counts {
		if ctx.Err() != nil || !l.addCopies(ctx, key, n) {
			l.letters.giveBack(counts)
			return false
		}
		delete(counts, key)
	}
	return true
}

// addCopies adds n copies to the letter with the key. If the letter is gone, the next copy writes a new one.
func (l *Ledger) addCopies(ctx context.Context, key bezoar.Fingerprint, n int64) bool {
	qctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	old, err := l.cfg.Store.Letters(qctx, LetterQuery{Fleet: l.cfg.Fleet, Key: key, Limit: 1})
	if err != nil {
		l.storing.Failed("look up the dead letter of "+key.Short(), err)
		return false
	}
	if len(old) == 0 {
		l.Forget(key)
		return true
	}
	m := old[0]
	v, ok := l.lookup(&blame.Work{Fingerprint: m.Fingerprint, Variant: m.Variant})
	if ok { // otherwise it was released meanwhile, or refused for a wider level: the letter stays as it is
		m.Verdict, m.Class, m.Reason, m.Evidence = v.ID, v.Cause, v.Reason, v.Evidence
	}
	m.Last, m.Copies = time.Now(), n
	return l.writeLetter(ctx, m)
}

// Forget makes the next refused copy for a letter's key write a new letter, because the old one is gone.
func (l *Ledger) Forget(key bezoar.Fingerprint) {
	l.letters.mu.Lock()
	defer l.letters.mu.Unlock()
	delete(l.letters.known, key)
}
