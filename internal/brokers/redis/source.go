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
	batch    = 100 // maximum number of messages per receive
	openFor  = 30 * time.Second
	closeFor = 5 * time.Second
	blockFor = time.Second // maximum time of one blocking read, which cannot be cancelled
	// maxDelayed is the approximate maximum number of held delayed messages.
	maxDelayed = 1000
)

// Source is a worker's source on a stream. Create it with [New], and call Close when the
// worker has ended.
type Source struct {
	cfg     Config
	name    string // name of this consumer in its group
	client  pool
	opened  bool
	scripts scripts
	stop    context.CancelFunc
	works   sync.WaitGroup // goroutines that renew claims

	mu    sync.Mutex // guards the fields below
	held  map[string]*held
	ready []*held // to be handed out, some after a delay
}

// held is one entry that the group assigned to this consumer.
type held struct {
	id       string
	values   map[string]string
	receives int
	serial   int // number of times that it was handed out
	out      bool
	gone     bool
	due      time.Time // end of its delay
	lost     chan struct{}
}

// New returns a source. It does not connect.
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

// Open connects, and creates the group and the stream if they do not exist.
func (s *Source) Open(ctx context.Context) (worker.About, error) {
	about := worker.About{Queue: s.cfg.Stream, Batch: batch, DeadLetter: s.cfg.DeadLetter}
	if s.opened { // opened before, while another worker held the state
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
		s.cfg.Log.Info("created the consumer group", "stream", s.cfg.Stream, "group", s.cfg.Group)
	case !strings.HasPrefix(err.Error(), "BUSYGROUP"): // the group exists
		_ = client.Close() // unusable
		return worker.About{}, s.cfg.explain(fmt.Errorf("open stream %s: %w", s.cfg.Stream, err))
	}
	s.client, s.opened = client, true
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.works.Go(func() { s.keep(keeping) })
	return about, nil
}

// Close returns unfinished messages to the group, and disconnects.
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
		s.cfg.Log.Warn("cannot return messages; other workers take them over when the lease ends", "stream", s.cfg.Stream, "err", err)
	}
	s.opened = false
	return s.client.Close()
}

// Receive returns messages that may run now: messages released here, messages of silent
// consumers, and new ones.
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

// ask takes over entries, or waits for new ones. A message whose delay ends during the wait
// waits until ask returns.
func (s *Source) ask(ctx context.Context, most int, wait time.Duration) error {
	if s.delayed() >= maxDelayed { // until a delay ends
		select {
		case <-time.After(s.untilDue(wait)):
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
	if wait = s.untilDue(wait); wait >= time.Millisecond { // BLOCK 0 would wait forever
		args = append(args, "BLOCK", wait.Milliseconds())
	}
	// A cancelled read may already have been assigned entries.
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

type entry struct {
	id     string
	values map[string]string
}

// entriesOf decodes entries. It omits deleted ones, which have no fields.
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

// takeOver claims entries of consumers that have been silent for too long.
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
	for _, one := range pending { // ID, consumer, idle time, deliveries
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

// delayed returns the number of delayed messages.
func (s *Source) delayed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ready)
}

// untilDue returns wait, or less if the delay of a message ends earlier.
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

func (s *Source) hold(e entry, receives int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.held[e.id]; old != nil { // this source took it over from itself after a long pause
		s.drop(old)
		close(old.lost)
	}
	h := &held{id: e.id, values: e.values, receives: receives, lost: make(chan struct{})}
	s.held[e.id] = h
	s.ready = append(s.ready, h)
}

// take removes due entries from the list, up to most.
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

// ended marks an error of a read as permanent if it is.
func (s *Source) ended(err error) error {
	told := s.cfg.explain(fmt.Errorf("read from stream %s: %w", s.cfg.Stream, err))
	if strings.Contains(err.Error(), "NOGROUP") || strings.Contains(err.Error(), "UNBLOCKED") {
		return &worker.PermanentError{Err: fmt.Errorf("the stream, or its consumer group, was deleted: %w", told)}
	}
	return told
}

// holding returns the held entry of a message. The caller holds the lock.
func (s *Source) holding(m worker.Message) (*held, error) {
	f := strings.SplitN(m.Receipt, "/", 3)
	if len(f) == 3 && f[0] == s.name {
		if h := s.held[f[2]]; h != nil && strconv.Itoa(h.serial) == f[1] && h.out {
			return h, nil
		}
	}
	return nil, fmt.Errorf("%w: the message was acknowledged, or belongs to another worker", worker.ErrLost)
}

// drop removes an entry. The caller holds the lock.
func (s *Source) drop(h *held) {
	h.gone = true
	delete(s.held, h.id)
}

// Extend checks that the source still holds a message. A background goroutine renews the
// claim.
func (s *Source) Extend(_ context.Context, m worker.Message, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.holding(m)
	return err
}

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

// Release hands a message out again after a delay.
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
