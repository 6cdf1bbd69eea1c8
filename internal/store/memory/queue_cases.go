package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// keep stores a payload's case. Cases are immutable; keep replaces them.
func (d *definition) keep(payload bezoar.Fingerprint, k *poison.Case) {
	if k == nil {
		delete(d.cases, payload)
		return
	}
	if _, known := d.cases[payload]; !known && len(d.cases) >= queue.MaxCases && !d.makeRoom() {
		return
	}
	d.cases[payload] = k
}

// makeRoom drops the most expendable case.
func (d *definition) makeRoom() bool {
	var drop bezoar.Fingerprint
	var least *poison.Case
	for payload, k := range d.cases {
		order, ok := record.Expendable(k)
		if !ok {
			continue
		}
		if least != nil {
			lowest, _ := record.Expendable(least)
			if cmp.Or(cmp.Compare(order, lowest), cmp.Compare(k.Touched, least.Touched)) >= 0 {
				continue
			}
		}
		drop, least = payload, k
	}
	delete(d.cases, drop)
	return least != nil
}

func (s *queueStore) Cases(ctx context.Context, id int64, state, limit int) ([]queue.PayloadCase, error) {
	d, leave, err := s.enterQueue(ctx, id)
	if err != nil {
		return nil, err
	}
	defer leave()
	var found []queue.PayloadCase
	for payload, k := range d.cases {
		if state < 0 || int(k.State) == state {
			found = append(found, queue.PayloadCase{Payload: payload, Case: *k})
		}
	}
	sorted.Func(found, func(a, b queue.PayloadCase) int {
		return cmp.Or(cmp.Compare(b.Touched, a.Touched), slices.Compare(a.Payload[:], b.Payload[:]))
	})
	return found[:min(len(found), limit)], nil
}

func (s *queueStore) ChangeCase(ctx context.Context, id int64, payload bezoar.Fingerprint, change func(*poison.Case, int64) *poison.Case) error {
	d, leave, err := s.enterQueue(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	var there *poison.Case
	if k := d.cases[payload]; k != nil {
		there = new(*k)
	}
	next := change(there, micros())
	if next != nil {
		next = new(*next)
	}
	d.keep(payload, next)
	return nil
}

func (s *queueStore) Vanish(ctx context.Context, id int64, receipts []queue.Receipt, holding int) error {
	d, leave, err := s.enterQueue(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	now := micros()
	for _, r := range receipts {
		if m := d.find(r); m != nil && m.Vanish(r, holding, now) {
			s.place(m)
		}
	}
	return nil
}
