package triage

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// maxLooked bounds the letters of a part whose payloads are looked up.
const maxLooked = 1024

// warn says which letters would come straight back: copies of payloads that
// are quarantined where they go.
func (svc *Service) warn(ctx context.Context, p *Plan, s namedStore, part Part) error {
	if p.Verb != Redrive || s.source != nil {
		return nil
	}
	held := make(map[string]map[bezoar.Fingerprint]bool) // by destination
	stopped := make(map[string]int)
	after := int64(0)
	for looked := 0; looked < maxLooked; {
		letters, err := s.Letters(ctx, part.of(p.Selection), after, queue.MaxBatch)
		if err != nil {
			return err
		}
		for _, l := range letters {
			if l.Letter == nil || l.Letter.Payload.IsZero() {
				continue
			}
			to := p.Options.Destination
			if to == "" {
				to = l.Letter.Origin
			}
			if held[to] == nil {
				if held[to], err = svc.quarantined(ctx, to); err != nil {
					return err
				}
			}
			if held[to][l.Letter.Payload] {
				stopped[to]++
			}
		}
		if len(letters) < queue.MaxBatch {
			break
		}
		looked, after = looked+len(letters), letters[len(letters)-1].Sequence
	}
	for _, to := range slices.Sorted(maps.Keys(stopped)) {
		p.Warnings = append(p.Warnings, fmt.Sprintf(
			"%d of the letters carry payloads that are quarantined in %s and will be set aside again, undelivered: pardon them first, or wait",
			stopped[to], to))
	}
	return nil
}

// quarantined lists payloads that a queue refuses; none if there is no such
// queue.
func (svc *Service) quarantined(ctx context.Context, name string) (map[bezoar.Fingerprint]bool, error) {
	is := make(map[bezoar.Fingerprint]bool)
	cases, err := svc.config.Queue.Payloads(ctx, name, int(poison.Quarantined), queue.MaxCases)
	if err != nil && queue.CodeOf(err) != queue.ErrQueueNotFound {
		return nil, err
	}
	now := svc.config.Now().UnixMicro()
	for _, c := range cases {
		is[c.Payload] = now < c.Until
	}
	return is, nil
}
