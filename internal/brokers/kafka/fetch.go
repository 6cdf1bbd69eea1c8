package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/bezoar-dev/bezoar/worker"
)

const (
	pollRecords = 500
	faultPause  = 200 * time.Millisecond
	stopWait    = 15 * time.Second // for what a rebalance has stopped
)

// fetch takes records in until ctx ends.
func (s *Source) fetch(ctx context.Context) {
	for {
		got := s.client.PollRecords(ctx, pollRecords)
		if ctx.Err() == nil {
			s.add(got)
		}
		s.client.AllowRebalance()
		if got.Err() != nil && ctx.Err() == nil { // else it might come back at once
			t := time.NewTimer(faultPause)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
			}
		}
		if ctx.Err() != nil || got.IsClientClosed() {
			return
		}
	}
}

// add takes in what was fetched.
func (s *Source) add(got kgo.Fetches) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got.EachError(func(_ string, partition int32, err error) { s.failed(partition, err) })
	got.EachPartition(func(f kgo.FetchTopicPartition) {
		p := s.parts[f.Partition]
		if p == nil || p.leaving || f.Topic != s.cfg.Topic {
			return // it is fetched again by whose it is
		}
		for _, r := range f.Records {
			s.addRecord(p, r)
		}
		s.throttle(p)
	})
}

// addRecord takes a record in. It is copied, because it holds on to the whole batch
// that it came with.
func (s *Source) addRecord(p *partition, r *kgo.Record) {
	if r.Offset < p.next {
		return // it is here, or has been
	}
	own := *r
	own.Key, own.Value, own.Headers, own.Context = bytes.Clone(r.Key), bytes.Clone(r.Value), nil, nil
	for _, h := range r.Headers {
		own.Headers = append(own.Headers, kgo.RecordHeader{Key: h.Key, Value: bytes.Clone(h.Value)})
	}
	s.makeReady(p.add(&own))
	if p.endedBefore(r.Offset) {
		s.end(p.byOffset[r.Offset])
		return
	}
	if len(s.earlier) > 0 {
		at := place{p.id, r.Offset, stampOf(r)}
		if known, ok := s.earlier[at]; ok {
			delete(s.earlier, at)
			s.recall(p.byOffset[r.Offset], known)
		}
	}
}

// throttle stops the fetches of a partition that holds its share, and lets them go on
// when it holds half of it. The caller holds the lock.
func (s *Source) throttle(p *partition) {
	if p.leaving {
		return
	}
	records, bytes := max(s.cfg.MaxRecords/len(s.parts), 1), max(s.cfg.MaxBytes/len(s.parts), 1)
	which := map[string][]int32{s.cfg.Topic: {p.id}}
	switch {
	case !p.paused && p.full(records, bytes, 1):
		p.paused = true
		s.client.PauseFetchPartitions(which)
	case p.paused && !p.full(records, bytes, 2):
		p.paused = false
		s.client.ResumeFetchPartitions(which)
	}
}

// failed takes an error of fetching. The next receive tells it. The caller holds
// the lock.
func (s *Source) failed(partition int32, err error) {
	if lost, ok := errors.AsType[*kgo.ErrDataLoss](err); ok {
		s.cfg.Log.Warn("records of a partition are gone before they were read", "topic", s.cfg.Topic, "partition", partition,
			"from", lost.ConsumedTo, "on", lost.ResetTo)
		return
	}
	if errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.IllegalGeneration) {
		return // wereLost says so, and the client joins again
	}
	told := s.explain(fmt.Errorf("fetch from %s: %w", s.cfg.Topic, err))
	if session, ok := errors.AsType[*kgo.ErrGroupSession](err); ok {
		told = s.explain(fmt.Errorf("be a member of consumer group %s: %w", s.cfg.Group, session.Err))
	}
	for _, forever := range []error{kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.SaslAuthenticationFailed, kerr.InconsistentGroupProtocol, kerr.FencedInstanceID} {
		if errors.Is(err, forever) {
			told = &worker.PermanentError{Err: told}
		}
	}
	s.fault = told
	signal(s.wake)
}

// assigned takes partitions that are ours now.
func (s *Source) assigned(_ context.Context, _ *kgo.Client, got map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range got[s.cfg.Topic] {
		if old := s.parts[id]; old != nil { // it was never taken away: what we hold of it is ours no more
			s.drop(old)
		}
		s.serial++
		p := newPartition(id, s.serial)
		s.parts[id], s.serials[s.serial] = p, p
	}
	for _, p := range s.parts { // their shares are smaller
		s.throttle(p)
	}
}

// revoked gives partitions back: what runs may end, the rest is stopped.
func (s *Source) revoked(ctx context.Context, _ *kgo.Client, taken map[string][]int32) {
	gone := s.leave(taken)
	if len(gone) == 0 {
		return
	}
	s.settle(ctx, gone, s.cfg.Drain)
	if err := s.commit(ctx); err != nil {
		s.cfg.Log.Warn("cannot commit ended records before a rebalance: they run again", "topic", s.cfg.Topic, "group", s.cfg.Group, "err", err)
	}
	s.lose(gone)
	if n := s.settle(ctx, gone, stopWait); n > 0 {
		s.cfg.Log.Warn("a rebalance goes on although some of the records that it stops have not ended", "topic", s.cfg.Topic, "records", n)
	}
}

// wereLost ends partitions that may be somebody else's already.
func (s *Source) wereLost(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
	if gone := s.leave(lost); len(gone) > 0 {
		s.cfg.Log.Warn("partitions are lost: the brokers did not hear of this worker for too long", "topic", s.cfg.Topic, "group", s.cfg.Group, "partitions", len(gone))
		s.lose(gone)
	}
}

func (s *Source) leave(taken map[string][]int32) (gone []*partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range taken[s.cfg.Topic] {
		if p := s.parts[id]; p != nil {
			p.leave()
			gone = append(gone, p)
		}
	}
	return gone
}

func (s *Source) lose(gone []*partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range gone {
		s.drop(p)
	}
	for _, p := range s.parts { // their shares are larger
		s.throttle(p)
	}
}

// drop ends a partition. What still runs of it is known until it has stopped. The
// caller holds the lock.
func (s *Source) drop(p *partition) {
	p.lose()
	if s.parts[p.id] == p {
		delete(s.parts, p.id)
	}
	if p.running == 0 {
		delete(s.serials, p.serial)
	}
	if p.paused { // or it is when it comes back
		s.client.ResumeFetchPartitions(map[string][]int32{s.cfg.Topic: {p.id}})
	}
}

// settle waits until nothing of partitions runs, and returns how much does if that
// takes too long.
func (s *Source) settle(ctx context.Context, gone []*partition, most time.Duration) int {
	over := time.NewTimer(most)
	defer over.Stop()
	for {
		n := 0
		s.mu.Lock()
		closed := s.closed
		for _, p := range gone {
			n += p.running
		}
		s.mu.Unlock()
		if n == 0 || closed {
			return 0
		}
		select {
		case <-s.idle:
		case <-over.C:
			return n
		case <-ctx.Done():
			return n
		}
	}
}
