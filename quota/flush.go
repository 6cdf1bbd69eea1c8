package quota

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// heartbeat is how often the store is asked for its clock at least.
const heartbeat = 5 * time.Second

// flusher brings what this node counted and what all nodes counted together.
// Its batch stays what it is until the store has answered: a store that has it
// and could not say so knows it by its Seq.
type flusher struct {
	batch Batch
	of    []*counted // of each count
	at    cursor
	down  time.Time // since when the store does not answer; zero: it does

	errors atomic.Uint64
	failed atomic.Bool
	heard  atomic.Int64 // when the store answered last, likewise
}

// cursor goes round the tables of all quotas.
type cursor struct{ quota, stripe int }

func (f *flusher) begin(cfg Config) {
	f.batch.Node = fmt.Sprintf("%s.%016x", cfg.Node, rand.Uint64())
	f.batch.Counts = make([]Count, 0, 64)
}

// flush sends everything that waits. Whoever is asked to stop between batches
// goes on from there the next time.
func (l *Limiter) flush(ctx context.Context) error {
	f := &l.flusher
	for left := len(*l.counted.Load()) * stripes; ctx.Err() == nil; {
		if len(f.batch.Counts) == 0 && f.down.IsZero() {
			left = l.collect(left)
			idle := l.clock.local(time.Now()) - f.heard.Load()
			if len(f.batch.Counts) == 0 && idle < int64(heartbeat) {
				return nil
			}
			f.batch.Seq++
		}
		if err := l.send(ctx); err != nil {
			return err
		}
		if left == 0 {
			return nil
		}
	}
	return ctx.Err()
}

// send sends the batch and takes the answer. After a failure the same batch is
// sent again.
func (l *Limiter) send(ctx context.Context) error {
	f := &l.flusher
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	sent := l.clock.local(time.Now())
	totals, err := l.cfg.Store.AddCounts(ctx, f.batch)
	received := l.clock.local(time.Now())
	if err == nil && len(totals.N) != len(f.batch.Counts) {
		err = fmt.Errorf("the store answers %d counts with %d totals", len(f.batch.Counts), len(totals.N))
	}
	if err != nil {
		return l.fail(ctx, err)
	}
	if !f.down.IsZero() {
		l.cfg.Log.Info("the store of quotas answers again", "after", time.Since(f.down).Round(time.Millisecond))
		f.down = time.Time{}
	}
	f.failed.Store(false)
	f.heard.Store(received)
	l.clock.heard(totals.Now, sent, received)
	l.merge(totals.N, received+l.clock.ahead.Load())
	f.batch.Counts, f.of = f.batch.Counts[:0], f.of[:0]
	return nil
}

// fail counts an error, and says so once an outage.
func (l *Limiter) fail(ctx context.Context, err error) error {
	f := &l.flusher
	if errors.Is(ctx.Err(), context.Canceled) {
		return err // it is us who stop
	}
	f.errors.Add(1)
	f.failed.Store(true)
	if f.down.IsZero() {
		f.down = time.Now()
		l.cfg.Log.Warn("the store of quotas does not answer; each node goes by the last totals and its own counts", "err", err)
	}
	return err
}

// collect fills the batch from the tables that are next, and returns how many
// of left are left.
func (l *Limiter) collect(left int) int {
	f := &l.flusher
	quotas := *l.counted.Load()
	now := l.clock.local(time.Now()) + l.clock.ahead.Load()
	for ; left > 0; left-- {
		if f.at.quota >= len(quotas) {
			f.at = cursor{}
		}
		if len(quotas) == 0 {
			return 0
		}
		q := &quotas[f.at.quota]
		if q.quota.Shared && !l.collectTable(q, f.at.stripe, now) {
			return left
		}
		if f.at.stripe++; f.at.stripe == stripes {
			f.at = cursor{quota: f.at.quota + 1}
		}
	}
	return 0
}

// collectTable takes the marked cells of one table, and reports whether all
// fitted into the batch.
func (l *Limiter) collectTable(q *counted, stripe int, now int64) bool {
	f := &l.flusher
	t := &q.tables[stripe]
	l.stripes[stripe].Lock()
	defer l.stripes[stripe].Unlock()
	for word, marks := range t.dirty {
		for ; marks != 0; marks &= marks - 1 {
			if len(f.batch.Counts)+q.counts() > MaxBatch {
				return false
			}
			i := word<<6 + bits.TrailingZeros64(marks)
			t.mark(i, false)
			f.batch.Counts = q.collect(f.batch.Counts, l.mask.key(t.id(i)), t.state(i), now)
			for len(f.of) < len(f.batch.Counts) {
				f.of = append(f.of, q)
			}
		}
	}
	return true
}

// merge takes the totals of the batch. Keys that are gone by now are left out.
func (l *Limiter) merge(totals []int64, now int64) {
	f := &l.flusher
	for i := range totals {
		c, q := &f.batch.Counts[i], f.of[i]
		d := l.mask.id(&c.Key)
		hash := d.hash()
		stripe := stripeOf(hash)
		t := &q.tables[stripe]
		l.stripes[stripe].Lock()
		if cell := t.find(hash, d); cell >= 0 {
			q.merge(t.state(cell), c.Bucket, totals[i], now)
		}
		l.stripes[stripe].Unlock()
	}
}
