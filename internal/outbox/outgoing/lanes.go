package outgoing

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/outbox"
)

// Lane is the unit of ordering: a topic and a key.
type Lane struct{ topic, key string }

func LaneOf(r *outbox.Record) Lane { return Lane{r.Topic, r.Key} }

// Lanes groups the indexes of records by key, in order. A record without a key gets a lane
// of its own.
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

// Waves sends records in waves of at most most records. A wave has at most one record of
// each key, so the receiver may process a wave in any order and refuse any record. check
// examines a record before it is sent; it may be nil. send returns one result for each
// record. Records behind a failed one get outbox.ErrBehind.
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

// wave sends the first record of each lane. It returns the remaining records of the lanes
// that may continue.
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

// All returns the same error for n records.
func All(n int, err error) []error {
	return slices.Repeat([]error{err}, n)
}

// Failed returns the results of a batch that was not sent: err for the first record of each
// key, and outbox.ErrBehind for the others.
func Failed(records []outbox.Record, err error) []error {
	results := All(len(records), outbox.ErrBehind)
	for _, lane := range Lanes(records) {
		results[lane[0]] = err
	}
	return results
}

// Refused returns the failure of a record that the destination will never accept.
func Refused(format string, args ...any) error {
	return &outbox.Failure{Class: bezoar.Invalid, Reason: fmt.Sprintf(format, args...)}
}

// IsRefused reports whether an error blames the record.
func IsRefused(err error) bool {
	f, ok := errors.AsType[*outbox.Failure](err)
	return ok && (f.Class == bezoar.Invalid || f.Class == bezoar.Bug)
}

// Keyed reports whether the lane has a key, and so an order.
func (l Lane) Keyed() bool { return l.key != "" }
