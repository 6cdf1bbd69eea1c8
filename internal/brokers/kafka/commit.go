package kafka

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Later records may have ended before the oldest unfinished one, and the partition's next
// owner must not run them again. So a commit's metadata lists which of the following
// records have ended: run lengths of offsets, alternating between not ended and ended.

const (
	commitEvery = 500 * time.Millisecond
	endedMark   = "bezoar1:" // prefix of our metadata
	// maxEnded is the maximum length of the metadata: brokers accept 4,096 bytes by
	// default.
	maxEnded = 4000
)

// progress is the state of a partition to commit.
type progress struct {
	at    kgo.EpochOffset
	ended string
}

// progress returns the state to commit; known is false before the first record. The caller
// holds the source's lock.
func (p *partition) progress() (now progress, known bool) {
	if p.next < 0 {
		return now, false
	}
	now.at = kgo.EpochOffset{Epoch: p.epoch, Offset: p.next}
	if len(p.window) > 0 {
		now.at = kgo.EpochOffset{Epoch: p.window[0].epoch, Offset: p.window[0].offset}
	}
	now.ended = encodeEnded(p.ended(), now.at.Offset)
	return now, true
}

// span is a half-open range of offsets: from is included, to is not.
type span struct{ from, to int64 }

// ended returns the ended records after the oldest unfinished one. It includes records
// known only from an earlier owner's commit.
func (p *partition) ended() (all []span) {
	for i, e := range p.window {
		switch {
		case e.state != ended:
		case i > 0 && p.window[i-1].state == ended:
			all[len(all)-1].to = e.offset + 1
		default:
			all = append(all, span{e.offset, e.offset + 1})
		}
	}
	for _, s := range p.before {
		if s.from = max(s.from, p.next); s.from < s.to {
			all = append(all, s)
		}
	}
	return all
}

// encodeEnded encodes the ended offsets after from. It drops ranges that do not fit; their
// records run again.
func encodeEnded(all []span, from int64) string {
	var out []byte
	for _, s := range all {
		next := binary.AppendUvarint(binary.AppendUvarint(out, uint64(s.from-from)), uint64(s.to-s.from))
		if len(endedMark)+base64.RawURLEncoding.EncodedLen(len(next)) > maxEnded {
			break
		}
		out, from = next, s.to
	}
	if len(out) == 0 {
		return ""
	}
	return endedMark + base64.RawURLEncoding.EncodeToString(out)
}

// decodeEnded decodes the ended offsets after from. It ignores foreign or damaged text.
func decodeEnded(text string, from int64) (all []span) {
	text, ours := strings.CutPrefix(text, endedMark)
	if !ours || len(text) > 2*maxEnded {
		return nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	for is := false; len(b) > 0; is = !is {
		run, n := binary.Uvarint(b)
		if n <= 0 || run > maxRun {
			return nil
		}
		b = b[n:]
		if is {
			all = append(all, span{from, from + int64(run)})
		}
		from += int64(run)
	}
	return all
}

// maxRun is larger than any window, including gaps in the offsets.
const maxRun = 1 << 40

// fetched reads which records of the newly assigned partitions have ended.
func (s *Source) fetched(_ context.Context, _ *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	take := func(id int32, offset int64, text *string) {
		if p := s.parts[id]; p != nil && text != nil {
			p.before = decodeEnded(*text, offset)
		}
	}
	for _, t := range resp.Topics { // response format of old brokers
		for _, p := range t.Partitions {
			take(p.Partition, p.Offset, p.Metadata)
		}
	}
	for _, g := range resp.Groups { // the request named only one topic
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				take(p.Partition, p.Offset, p.Metadata)
			}
		}
	}
	return nil
}

// endedBefore reports whether a record had ended before the partition was assigned to this
// source.
func (p *partition) endedBefore(offset int64) bool {
	for len(p.before) > 0 && p.before[0].to <= offset {
		p.before = p.before[1:]
	}
	return len(p.before) > 0 && p.before[0].from <= offset
}

// commits commits regularly until ctx ends.
func (s *Source) commits(ctx context.Context) {
	tick := time.NewTicker(commitEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := s.commit(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			s.cfg.Log.Warn("cannot commit offsets; ended records will run again if this worker dies", "topic", s.cfg.Topic, "group", s.cfg.Group, "err", err)
		}
		failing = err != nil
	}
}

// commit commits the changed offsets.
func (s *Source) commit(ctx context.Context) error {
	s.committing.Lock() // commits must stay in order
	defer s.committing.Unlock()
	offsets, changed := map[int32]kgo.EpochOffset{}, map[*partition]progress{}
	s.mu.Lock()
	for id, p := range s.parts {
		if now, known := p.progress(); known && now != p.committed {
			offsets[id], changed[p] = now.at, now
		}
	}
	s.mu.Unlock()
	if len(changed) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeFor)
	defer cancel()
	texts := map[int32]*string{}
	for p, now := range changed {
		texts[p.id] = new(now.ended)
	}
	ctx = kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		for _, t := range req.Topics {
			for i := range t.Partitions {
				t.Partitions[i].Metadata = texts[t.Partitions[i].Partition]
			}
		}
		return nil
	})
	done := map[int32]bool{}
	var failure error
	s.client.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{s.cfg.Topic: offsets},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			if failure = err; err == nil {
				done, failure = accepted(resp)
			}
		})
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, now := range changed {
		if done[p.id] {
			p.committed = now
		}
	}
	return failure
}

// accepted returns the partitions that were committed, and the errors of the others.
func accepted(resp *kmsg.OffsetCommitResponse) (done map[int32]bool, err error) {
	done = map[int32]bool{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if e := kerr.ErrorForCode(p.ErrorCode); e != nil {
				err = fmt.Errorf("partition %d: %w", p.Partition, e)
			} else {
				done[p.Partition] = true
			}
		}
	}
	return done, err
}
