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
	stopWait    = 15 * time.Second // time limit for stopping records after a rebalance
)

// fetch receives records until ctx ends.
func (s *Source) fetch(ctx context.Context) {
	for {
		got := s.client.PollRecords(ctx, pollRecords)
		if ctx.Err() == nil {
			s.add(got)
		}
		s.client.AllowRebalance()
		if got.Err() != nil && ctx.Err() == nil { // avoid a busy loop
			select {
			case <-time.After(faultPause):
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil || got.IsClientClosed() {
			return
		}
	}
}

// add stores fetched records.
func (s *Source) add(got kgo.Fetches) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got.EachError(func(_ string, partition int32, err error) { s.failed(partition, err) })
	got.EachPartition(func(f kgo.FetchTopicPartition) {
		p := s.parts[f.Partition]
		if p == nil || p.leaving || f.Topic != s.cfg.Topic {
			return // the partition's next owner fetches it
		}
		for _, r := range f.Records {
			s.addRecord(p, r)
		}
		s.throttle(p)
	})
}

// addRecord stores a copy of a record, because the original keeps its whole batch in
// memory.
func (s *Source) addRecord(p *partition, r *kgo.Record) {
	if r.Offset < p.next {
		return // the record is held already, or has ended
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

// throttle pauses fetching of a partition that holds its share, and resumes it at half of
// the share. The caller holds the lock.
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

// failed stores an error of fetching for the next Receive. The caller holds the lock.
func (s *Source) failed(partition int32, err error) {
	if lost, ok := errors.AsType[*kgo.ErrDataLoss](err); ok {
		s.cfg.Log.Warn("records of a partition were deleted before they were read", "topic", s.cfg.Topic, "partition", partition,
			"from", lost.ConsumedTo, "on", lost.ResetTo)
		return
	}
	if errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.IllegalGeneration) {
		return // wereLost logs it, and the client rejoins
	}
	told := s.explain(fmt.Errorf("fetch from %s: %w", s.cfg.Topic, err))
	if session, ok := errors.AsType[*kgo.ErrGroupSession](err); ok {
		told = s.explain(fmt.Errorf("join consumer group %s: %w", s.cfg.Group, session.Err))
	}
	for _, forever := range []error{kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.SaslAuthenticationFailed, kerr.InconsistentGroupProtocol, kerr.FencedInstanceID} {
		if errors.Is(err, forever) {
			told = &worker.PermanentError{Err: told}
		}
	}
	s.fault = told
	signal(s.wake)
}

// assigned starts newly assigned partitions.
func (s *Source) assigned(_ context.Context, _ *kgo.Client, got map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range got[s.cfg.Topic] {
		if old := s.parts[id]; old != nil { // stale: it was never revoked
			s.drop(old)
		}
		s.serial++
		p := newPartition(id, s.serial)
		s.parts[id], s.serials[s.serial] = p, p
	}
	for _, p := range s.parts { // shares become smaller
		s.throttle(p)
	}
}

// revoked gives partitions back: running records get time to end, then the others are
// stopped.
func (s *Source) revoked(ctx context.Context, _ *kgo.Client, taken map[string][]int32) {
	gone := s.leave(taken)
	if len(gone) == 0 {
		return
	}
	s.settle(ctx, gone, s.cfg.Drain)
	if err := s.commit(ctx); err != nil {
		s.cfg.Log.Warn("cannot commit ended records before a rebalance; they will run again", "topic", s.cfg.Topic, "group", s.cfg.Group, "err", err)
	}
	s.lose(gone)
	if n := s.settle(ctx, gone, stopWait); n > 0 {
		s.cfg.Log.Warn("a rebalance continues before all records that it stops have ended", "topic", s.cfg.Topic, "records", n)
	}
}

// wereLost ends partitions that may already have another owner.
func (s *Source) wereLost(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
	if gone := s.leave(lost); len(gone) > 0 {
		s.cfg.Log.Warn("partitions were lost: the brokers received no heartbeat from this worker for too long", "topic", s.cfg.Topic, "group", s.cfg.Group, "partitions", len(gone))
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
	for _, p := range s.parts { // shares become larger
		s.throttle(p)
	}
}

// drop ends a partition. It keeps track of running records until they have stopped. The
// caller holds the lock.
func (s *Source) drop(p *partition) {
	p.lose()
	if s.parts[p.id] == p {
		delete(s.parts, p.id)
	}
	if p.running == 0 {
		delete(s.serials, p.serial)
	}
	if p.paused { // otherwise it would stay paused when it is assigned again
		s.client.ResumeFetchPartitions(map[string][]int32{s.cfg.Topic: {p.id}})
	}
}

// settle waits until no record of the partitions runs. It returns the number of records
// that still run after most.
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
