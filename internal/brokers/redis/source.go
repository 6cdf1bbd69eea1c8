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

	"github.com/gomodule/redigo/redis"

	"github.com/bezoar-dev/bezoar/worker"
)

const (
	batch    = 100 // the most messages of one receive
	openFor  = 30 * time.Second
	closeFor = 5 * time.Second
	blockFor = time.Second // of one read, which nothing breaks off
	// maxDelayed is about how many messages are held that wait for their time.
	maxDelayed = 1000
)

// Source is a stream as a worker's source. Make it with [New], and Close it when the
// worker has ended.
type Source struct {
	cfg     Config
	name    string // of this consumer in its group
	client  pool
	opened  bool
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
	values   map[string]string
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
	if s.opened { // a worker whose state was in use had it opened
		return about, nil
	}
	call, cancel := context.WithTimeout(ctx, openFor)
	defer cancel()
	client := s.cfg.open()
	from := "0"
	if s.cfg.Latest {
		from = "$"
	}
	_, err := client.do(call, "XGROUP", "CREATE", s.cfg.Stream, s.cfg.Group, from, "MKSTREAM")
	switch {
	case err == nil:
		s.cfg.Log.Info("made the consumer group", "stream", s.cfg.Stream, "group", s.cfg.Group)
	case !strings.HasPrefix(err.Error(), "BUSYGROUP"): // which says that it is there
		_ = client.Close() // it is of no use
		return worker.About{}, s.cfg.explain(fmt.Errorf("open stream %s: %w", s.cfg.Stream, err))
	}
	s.client, s.opened = client, true
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.works.Go(func() { s.keep(keeping) })
	return about, nil
}

// Close gives back what has not ended, and disconnects.
func (s *Source) Close() error {
	if !s.opened {
		return nil
	}
	s.stop()
	s.works.Wait()
	s.mu.Lock()
	for _, h := range s.held {
		s.drop(h)
		close(h.lost)
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeFor)
	defer cancel()
	if err := s.scripts.leave(ctx, s); err != nil {
		s.cfg.Log.Warn("cannot give messages back: others take them over when the lease is over", "stream", s.cfg.Stream, "err", err)
	}
	s.opened = false
	return s.client.Close()
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
	if s.delayed() >= maxDelayed { // until one of them is due
		timer := time.NewTimer(s.untilDue(wait))
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	taken, err := s.takeOver(ctx, most)
	if err != nil || taken > 0 {
		return err
	}
	args := []any{"GROUP", s.cfg.Group, s.name, "COUNT", most}
	if wait = s.untilDue(wait); wait >= time.Millisecond { // BLOCK 0 is for ever
		args = append(args, "BLOCK", wait.Milliseconds())
	}
	// A read that is broken off may have been given entries.
	answer, err := redis.Values(s.client.do(context.WithoutCancel(ctx), "XREADGROUP", append(args, "STREAMS", s.cfg.Stream, ">")...))
	if errors.Is(err, redis.ErrNil) {
		return nil
	}
	for _, stream := range answer {
		parts, _ := stream.([]any)
		if len(parts) == 2 {
			for _, e := range entriesOf(parts[1]) {
				s.hold(e, 0)
			}
		}
	}
	return err
}

// entry is one of a stream.
type entry struct {
	id     string
	values map[string]string
}

// entriesOf reads entries. One that was deleted has no fields: it is left out.
func entriesOf(answer any) (all []entry) {
	list, _ := answer.([]any)
	for _, one := range list {
		parts, _ := one.([]any)
		if len(parts) != 2 {
			continue
		}
		id, err := redis.String(parts[0], nil)
		values, failed := redis.StringMap(parts[1], nil)
		if err == nil && failed == nil {
			all = append(all, entry{id, values})
		}
	}
	return all
}

// takeOver takes entries over of which nobody has said for too long that he has them.
func (s *Source) takeOver(ctx context.Context, most int) (int, error) {
	answer, err := redis.Values(s.client.do(ctx, "XAUTOCLAIM", s.cfg.Stream, s.cfg.Group, s.name, s.cfg.Lease.Milliseconds(), "0-0", "COUNT", most))
	if err != nil || len(answer) < 2 {
		return 0, err
	}
	entries := entriesOf(answer[1])
	if len(entries) == 0 {
		return 0, nil
	}
	pending, err := redis.Values(s.client.do(ctx, "XPENDING", s.cfg.Stream, s.cfg.Group, entries[0].id, entries[len(entries)-1].id, batch*10, s.name))
	if err != nil {
		return 0, err
	}
	before := map[string]int{}
	for _, one := range pending { // its ID, the consumer, how long it is idle, deliveries
		if p, _ := one.([]any); len(p) == 4 {
			id, _ := p[0].([]byte)
			n, _ := p[3].(int64)
			before[string(id)] = int(n) - 1
		}
	}
	for _, e := range entries {
		s.hold(e, max(before[e.id], 1))
	}
	return len(entries), nil
}

// delayed is how many messages wait for their time.
func (s *Source) delayed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ready)
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
func (s *Source) hold(e entry, receives int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.held[e.id]; old != nil { // we took it over from ourselves, after a long stop
		s.drop(old)
		close(old.lost)
	}
	h := &held{id: e.id, values: e.values, receives: receives, lost: make(chan struct{})}
	s.held[e.id] = h
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
