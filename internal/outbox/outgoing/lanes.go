package outgoing

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/outbox"
)

// Lane is what keeps order: a topic and a key.
type Lane struct{ topic, key string }

// LaneOf is the lane of a record.
func LaneOf(r *outbox.Record) Lane { return Lane{r.Topic, r.Key} }

// Lanes are the records of each key, in order, by their indexes. A record without a
// key has a lane of its own.
func Lanes(records []outbox.Record) (all [][]int) {
	of := map[Lane]int{}
	for i := range records {
		r := &records[i]
		at, there := of[LaneOf(r)]
		if !there || r.Key == "" {
			at = len(all)
			of[LaneOf(r)] = at
			all = append(all, nil)
		}
		all[at] = append(all[at], i)
	}
	return all
}

// Waves sends records wave by wave, of at most most records each. A wave has no two
// records of one key, so that the place may take those of a wave in any order, and
// refuse any of them. check says what is wrong with a record before it is sent; nil
// looks at nothing. send has one result for each record. What is behind a record that
// failed is outbox.ErrBehind.
func Waves(ctx context.Context, records []outbox.Record, most int, check func(*outbox.Record) error, send func(context.Context, []*outbox.Record) []error) []error {
	results := make([]error, len(records))
	lanes := Lanes(records)
	for len(lanes) > 0 {
		var next [][]int
		for some := range slices.Chunk(lanes, most) {
			next = append(next, wave(ctx, records, some, results, check, send)...)
		}
		lanes = next
	}
	return results
}

// wave sends the first record of each lane, and returns what is left of those that go
// on.
func wave(ctx context.Context, records []outbox.Record, lanes [][]int, results []error, check func(*outbox.Record) error, send func(context.Context, []*outbox.Record) []error) (left [][]int) {
	batch, at := make([]*outbox.Record, 0, len(lanes)), make([]int, 0, len(lanes))
	for _, lane := range lanes {
		i := lane[0]
		if results[i] = ctx.Err(); results[i] == nil && check != nil {
			results[i] = check(&records[i])
		}
		if results[i] == nil {
			batch, at = append(batch, &records[i]), append(at, i)
		}
	}
	if len(batch) > 0 {
		for k, err := range send(ctx, batch) {
			results[at[k]] = err
		}
	}
	for _, lane := range lanes {
		switch rest := lane[1:]; {
		case results[lane[0]] != nil:
			for _, i := range rest {
				results[i] = outbox.ErrBehind
			}
		case len(rest) > 0:
			left = append(left, rest)
		}
	}
	return left
}

// All is one error for each of n records.
func All(n int, err error) []error {
	all := make([]error, n)
	for i := range all {
		all[i] = err
	}
	return all
}

// Failed are the results of a batch that was not sent at all: the first record of each
// key failed with err, the others are behind it.
func Failed(records []outbox.Record, err error) []error {
	results := All(len(records), outbox.ErrBehind)
	for _, lane := range Lanes(records) {
		results[lane[0]] = err
	}
	return results
}

// Refused is the failure of a record that its place does not take, now or later.
func Refused(format string, args ...any) error {
	return &outbox.Failure{Class: bezoar.Invalid, Reason: fmt.Sprintf(format, args...)}
}

// IsRefused reports whether an error blames the record.
func IsRefused(err error) bool {
	f, ok := errors.AsType[*outbox.Failure](err)
	return ok && (f.Class == bezoar.Invalid || f.Class == bezoar.Bug)
}

// Keyed reports whether it has a key, and so an order.
func (l Lane) Keyed() bool { return l.key != "" }
