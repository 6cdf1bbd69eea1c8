package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bezoar-dev/bezoar/worker"
)

const (
	batch    = 100 // the most messages of one receive
	openFor  = 30 * time.Second
	closeFor = 5 * time.Second
	blockFor = time.Second // of one read: nothing else breaks it off
)

// Source is a stream as a worker's source. Make it with [New], and Close it when the
// worker has ended.
type Source struct {
	cfg     Config
	name    string // of this consumer in its group
	client  *redis.Client
	scripts scripts
	stop    context.CancelFunc
	works   sync.WaitGroup // what keeps messages ours

	mu    sync.Mutex // guards all below
	held  map[string]*held
	ready []*held // to be handed out, some of them later
}

// held is an entry that the group has given to us.
type held struct {
	id       string
	values   map[string]any
	receives int
	serial   int // of the times that it was handed out
	out      bool
	gone     bool
	due      time.Time // not to be handed out before
	lost     chan struct{}
}

// New returns a source. It connects to nothing.
func New(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "bezoar"
	}
	return &Source{
		cfg: c.withDefaults(), name: fmt.Sprintf("%.100s-%d-%s", host, os.Getpid(), rand.Text()[:8]),
		scripts: newScripts(), held: map[string]*held{},
	}, nil
}

// Open connects, and makes the group, and the stream, if they are not there.
func (s *Source) Open(ctx context.Context) (worker.About, error) {
	about := worker.About{Queue: s.cfg.Stream, Batch: batch, DeadLetter: s.cfg.DeadLetter}
	if s.client != nil { // a worker whose state was in use had it opened
		return about, nil
	}
	call, cancel := context.WithTimeout(ctx, openFor)
	defer cancel()
	client := s.cfg.open()
	from := "0"
	if s.cfg.Latest {
		from = "$"
	}
	err := client.XGroupCreateMkStream(call, s.cfg.Stream, s.cfg.Group, from).Err()
	switch {
	case err == nil:
		s.cfg.Log.Info("made the consumer group", "stream", s.cfg.Stream, "group", s.cfg.Group)
	case !strings.HasPrefix(err.Error(), "BUSYGROUP"): // which says that it is there
		_ = client.Close() // it is of no use
		return worker.About{}, s.cfg.explain(fmt.Errorf("open stream %s: %w", s.cfg.Stream, err))
	}
	s.client = client
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.works.Go(func() { s.keep(keeping) })
	return about, nil
}

// Close gives back what has not ended, and disconnects.
func (s *Source) Close() error {
	if s.client == nil {
		return nil
	}
	s.stop()
	s.works.Wait()
	s.mu.Lock()
	var ids []string
	for _, h := range s.held {
		ids = append(ids, h.id)
		s.drop(h)
		close(h.lost)
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeFor)
	defer cancel()
	if err := s.scripts.leave(ctx, s, ids); err != nil {
		s.cfg.Log.Warn("cannot give messages back: others take them over when the lease is over", "stream", s.cfg.Stream, "messages", len(ids), "err", err)
	}
	err := s.client.Close()
	s.client = nil
	return err
}

// Receive hands messages out that may run now: those that were released here, those that
// nobody has any more, and new ones.
func (s *Source) Receive(ctx context.Context, in worker.Receive) ([]worker.Message, error) {
	most, over := min(in.Max, batch), time.Now().Add(in.Wait)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if got := s.take(most); len(got) > 0 {
			return got, nil
		}
		if err := s.ask(ctx, most, min(time.Until(over), blockFor)); err != nil {
			return nil, s.ended(err)
		}
		got := s.take(most)
		if len(got) > 0 || time.Now().After(over) {
			return got, nil
		}
	}
}

// ask takes entries over, or waits for new ones. What is released here meanwhile waits as
// long.
func (s *Source) ask(ctx context.Context, most int, wait time.Duration) error {
	taken, err := s.takeOver(ctx, most)
	if err != nil || taken > 0 {
		return err
	}
	if wait = s.untilDue(wait); wait < time.Millisecond {
		wait = -1 // do not wait
	}
	streams, err := s.client.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: s.cfg.Group, Consumer: s.name, Streams: []string{s.cfg.Stream, ">"}, Count: int64(most), Block: wait,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	for _, stream := range streams {
		for _, entry := range stream.Messages {
			s.hold(entry, 0)
		}
	}
	return err
}

// takeOver takes entries over of which nobody has said for too long that he has them.
func (s *Source) takeOver(ctx context.Context, most int) (int, error) {
	entries, _, err := s.client.XAutoClaim(ctx, &redis.XAutoClaimArgs{
		Stream: s.cfg.Stream, Group: s.cfg.Group, Consumer: s.name, MinIdle: s.cfg.Lease, Start: "0-0", Count: int64(most),
	}).Result()
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	before := map[string]int{}
	pending, err := s.client.XPendingExt(ctx, &redis.XPendingExtArgs{
		Stream: s.cfg.Stream, Group: s.cfg.Group, Start: entries[0].ID, End: entries[len(entries)-1].ID, Count: batch * 10, Consumer: s.name,
	}).Result()
	if err != nil {
		return 0, err
	}
	for _, p := range pending {
		before[p.ID] = int(p.RetryCount) - 1
	}
	for _, entry := range entries {
		s.hold(entry, max(before[entry.ID], 1))
	}
	return len(entries), nil
}

// untilDue is a time to wait, less if something that was released here is due before.
func (s *Source) untilDue(wait time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.ready {
		if !h.gone {
			wait = min(wait, time.Until(h.due)+time.Millisecond)
		}
	}
	return wait
}

// hold makes an entry ours.
func (s *Source) hold(entry redis.XMessage, receives int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.held[entry.ID]; old != nil { // we took it over from ourselves, after a long stop
		s.drop(old)
		close(old.lost)
	}
	h := &held{id: entry.ID, values: entry.Values, receives: receives, lost: make(chan struct{})}
	s.held[entry.ID] = h
	s.ready = append(s.ready, h)
}

// take hands out what is due.
func (s *Source) take(most int) (got []worker.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.ready = slices.DeleteFunc(s.ready, func(h *held) bool {
		if h.gone {
			return true
		}
		if len(got) == most || h.due.After(now) {
			return false
		}
		h.out = true
		h.receives++
		h.serial++
		got = append(got, s.message(h))
		return true
	})
	return got
}

// ended says of an error of asking whether it is for good.
func (s *Source) ended(err error) error {
	told := s.cfg.explain(fmt.Errorf("read from stream %s: %w", s.cfg.Stream, err))
	if strings.Contains(err.Error(), "NOGROUP") || strings.Contains(err.Error(), "UNBLOCKED") {
		return &worker.PermanentError{Err: fmt.Errorf("the stream, or its consumer group, was deleted: %w", told)}
	}
	return told
}

// holding is what we hold of a message. The caller holds the lock.
func (s *Source) holding(m worker.Message) (*held, error) {
	f := strings.SplitN(m.Receipt, "/", 3)
	if len(f) == 3 && f[0] == s.name {
		if h := s.held[f[2]]; h != nil && strconv.Itoa(h.serial) == f[1] && h.out {
			return h, nil
		}
	}
	return nil, fmt.Errorf("%w: it was acknowledged, or is another worker's", worker.ErrLost)
}

// drop forgets an entry. The caller holds the lock.
func (s *Source) drop(h *held) {
	h.gone = true
	delete(s.held, h.id)
}

// Extend finds out whether a message is still ours. That the group knows so is kept up by
// itself.
func (s *Source) Extend(_ context.Context, m worker.Message, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.holding(m)
	return err
}

// Done acknowledges a message.
func (s *Source) Done(ctx context.Context, m worker.Message) error {
	s.mu.Lock()
	h, err := s.holding(m)
	if err == nil {
		s.drop(h)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.scripts.done(ctx, s, h.id)
}

// Release has a message handed out again, after a time.
func (s *Source) Release(_ context.Context, m worker.Message, r worker.Release) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, err := s.holding(m)
	if err != nil {
		return err
	}
	h.out = false
	if r.Refund {
		h.receives--
	}
	h.due = time.Now().Add(r.Delay)
	s.ready = append(s.ready, h)
	return nil
}
