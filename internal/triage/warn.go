package triage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// maxLooked bounds the letters of a part whose payloads are looked up for a
// warning.
const maxLooked = 1024

// warn says which letters would come straight back: copies of payloads that
// are quarantined where they go.
func (svc *Service) warn(ctx context.Context, p *Plan, s namedStore, part Part) error {
	if p.Verb != Redrive || s.source != nil || p.Options.Pardon {
		return nil
	}
	held := make(map[string]map[bezoar.Fingerprint]bool) // by destination
	stopped := make(map[string]int)
	err := s.payloads(ctx, part.of(p.Selection), maxLooked, func(origin string, payload bezoar.Fingerprint) (err error) {
		to := p.Options.Destination
		to = cmp.Or(to, origin)
		if held[to] == nil {
			if held[to], err = svc.held(ctx, to, int(poison.Quarantined)); err != nil {
				return err
			}
		}
		if held[to][payload] {
			stopped[to]++
		}
		return nil
	})
	for _, to := range slices.Sorted(maps.Keys(stopped)) {
		p.Warnings = append(p.Warnings, fmt.Sprintf(
			"%d of the letters carry payloads that are quarantined in %s and will be set aside again, undelivered: pardon them with --pardon, or wait",
			stopped[to], to))
	}
	return err
}

// pauses says which queues deliver nothing for now, and why: what is sent to them
// waits.
func (svc *Service) pauses(ctx context.Context, names ...string) (out []string) {
	for _, name := range names {
		if svc.source(name) != nil {
			continue
		}
		if why, err := svc.config.Queue.Held(ctx, name); err == nil && why != "" { // else it is not there
			out = append(out, fmt.Sprintf("nothing is received from %s for now: %s", name, why))
		}
	}
	return out
}

// payloads calls f with the payload of each letter that s picks, and the queue
// it came from, for about the newest most of them.
func (s namedStore) payloads(ctx context.Context, sel queue.Selection, most int, f func(origin string, payload bezoar.Fingerprint) error) error {
	after := int64(0)
	for looked := 0; looked < most; {
		letters, err := s.Letters(ctx, sel, after, queue.MaxBatch)
		if err != nil {
			return err
		}
		for _, l := range letters {
			if l.Letter == nil || l.Letter.Payload.IsZero() {
				continue
			}
			if err := f(l.Letter.Origin, l.Letter.Payload); err != nil {
				return err
			}
		}
		if len(letters) < queue.MaxBatch {
			return nil
		}
		looked, after = looked+len(letters), letters[len(letters)-1].Sequence
	}
	return nil
}

// anyState is all that is known of payloads.
const anyState = -1

// held lists payloads that a queue knows in a state, those that are quarantined
// only while they are; none if there is no such queue.
func (svc *Service) held(ctx context.Context, name string, state int) (map[bezoar.Fingerprint]bool, error) {
	is := make(map[bezoar.Fingerprint]bool)
	cases, err := svc.config.Queue.Payloads(ctx, name, state, queue.MaxCases)
	if err != nil && queue.CodeOf(err) != queue.ErrQueueNotFound {
		return nil, err
	}
	now := svc.config.Now().UnixMicro()
	for _, c := range cases {
		is[c.Payload] = state == anyState || now < c.Until
	}
	return is, nil
}

// Pardon forgets what is held against the payloads of the dead letters that s
// picks, in the queues that these came from, and returns how many payloads that
// were. It is for after a fix: else copies that are redriven, or sent anew, are
// refused until the quarantine ends.
func (svc *Service) Pardon(ctx context.Context, who Actor, s queue.Selection) (int, error) {
	var n int
	err := svc.known(s)
	if err == nil {
		n, err = svc.pardon(ctx, s, "")
	}
	actual := int64(n)
	note := Detail{Actual: &actual}
	note.Selection, note.More = noted(s)
	err = wrap(err, "pardon the payloads of dead letters")
	svc.audit(ctx, who, "payload.pardon", s.Queue, note, err)
	return n, err
}

// pardon looks at every letter, as long as there is something left to pardon.
func (svc *Service) pardon(ctx context.Context, s queue.Selection, to string) (n int, err error) {
	left := make(map[string]map[bezoar.Fingerprint]bool)
	err = namedStore{LetterStore: svc.config.Queue}.payloads(ctx, s, math.MaxInt, func(origin string, payload bezoar.Fingerprint) (err error) {
		if to != "" {
			origin = to
		}
		if left[origin] == nil {
			if left[origin], err = svc.held(ctx, origin, anyState); err != nil {
				return err
			}
		}
		if !left[origin][payload] {
			return nil
		}
		delete(left[origin], payload)
		if err := svc.config.Queue.Pardon(ctx, origin, payload); err != nil {
			return err
		}
		n++
		return nil
	})
	return n, err
}
