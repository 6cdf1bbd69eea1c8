package kafka

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/bezoar-dev/bezoar/worker"
)

const (
	openFor     = 30 * time.Second // time limit for finding the topic
	closeFor    = 15 * time.Second // time limit for the commit and for leaving the group
	maxUnpacked = 256 << 20        // maximum size of a decompressed batch
	batch       = 100              // maximum number of messages per receive
)

// Source is a worker's source on a topic. Create it with [New], and call Close when the
// worker has ended.
type Source struct {
	cfg    Config
	client *kgo.Client
	life   string // identifies this source in receipts
	stop   context.CancelFunc
	works  sync.WaitGroup // goroutines that fetch and commit

	committing sync.Mutex // held during a commit; acquired before mu

	mu      sync.Mutex // guards the fields below
	parts   map[int32]*partition
	serials map[int]*partition // assigned partitions, and lost ones with running records
	serial  int
	closed  bool // no more records will end
	ready   []*entry
	fault   error           // error of fetching for the next Receive
	earlier map[place]prior // reports about an earlier process's records
	wake    chan struct{}   // signalled when a record is ready
	idle    chan struct{}   // signalled when fewer records run
}

// New returns a source. It does not connect.
func New(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Source{
		cfg: c.withDefaults(), life: rand.Text(),
		parts: map[int32]*partition{}, serials: map[int]*partition{}, earlier: map[place]prior{},
		wake: make(chan struct{}, 1), idle: make(chan struct{}, 1),
	}, nil
}

// Open finds the topic, creates the dead-letter topic if necessary, and joins the group.
func (s *Source) Open(ctx context.Context) (worker.About, error) {
	about := worker.About{Queue: s.cfg.Topic, Batch: batch, DeadLetter: s.cfg.DeadLetter}
	if s.client != nil { // opened before, while another worker held the state
		return about, nil
	}
	call, cancel := context.WithTimeout(ctx, openFor)
	defer cancel()
	if err := s.openTopics(call); err != nil {
		return worker.About{}, err
	}
	if err := s.join(); err != nil {
		return worker.About{}, err
	}
	fetching, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.works.Go(func() { s.fetch(fetching) })
	s.works.Go(func() { s.commits(fetching) })
	return about, nil
}

// join creates the client, which joins the group. Callbacks of the client wait until
// s.client is set.
func (s *Source) join() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client, err = kgo.NewClient(s.options()...); err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	return nil
}

func (s *Source) options() []kgo.Opt {
	start := kgo.NewOffset().AtStart()
	if s.cfg.Latest {
		start = kgo.NewOffset().AtEnd()
	}
	fetch := int32(min(max(s.cfg.MaxBytes/4, 1<<20), 16<<20))
	options := append(s.cfg.Options(),
		kgo.ConsumeTopics(s.cfg.Topic), kgo.ConsumerGroup(s.cfg.Group), kgo.ConsumeStartOffset(start),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), // skip records that retention has removed
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxBytes(fetch), kgo.FetchMaxPartitionBytes(1<<20), kgo.MaxConcurrentFetches(2), kgo.MaxDecompressBatchBytes(maxUnpacked),
		kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(s.assigned), kgo.OnPartitionsRevoked(s.revoked), kgo.OnPartitionsLost(s.wereLost),
		kgo.DisableAutoCommit(), kgo.OnOffsetsFetched(s.fetched),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerBatchMaxBytes(maxLetter), kgo.RecordDeliveryTimeout(parkFor),
		kgo.ProducerLinger(0), kgo.SessionTimeout(s.cfg.Session), kgo.HeartbeatInterval(min(s.cfg.Session/5, 3*time.Second)),
	)
	if s.cfg.Instance != "" {
		options = append(options, kgo.InstanceID(s.cfg.Instance))
	}
	return options
}

// Close commits ended records and leaves the group. The worker must have ended.
func (s *Source) Close() error {
	s.mu.Lock()
	closed := s.client == nil || s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.stop()
	s.works.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closeFor)
	defer cancel()
	err := s.commit(ctx)
	if left := s.client.LeaveGroupContext(ctx); err == nil && left != nil {
		s.cfg.Log.Warn("cannot leave the consumer group; its other members wait until this one times out", "group", s.cfg.Group, "err", left)
	}
	s.client.CloseAllowingRebalance()
	if err != nil {
		return fmt.Errorf("commit the offsets of ended records: %w", err)
	}
	return nil
}

// Receive returns records that may run now.
func (s *Source) Receive(ctx context.Context, in worker.Receive) ([]worker.Message, error) {
	over := time.NewTimer(in.Wait)
	defer over.Stop()
	for {
		got, err := s.take(in.Max)
		if len(got) > 0 || err != nil {
			return got, err
		}
		select {
		case <-s.wake:
		case <-over.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take removes ready records from the list, up to most.
func (s *Source) take(most int) (got []worker.Message, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ready) > 0 && len(got) < most {
		e := s.ready[0]
		s.ready[0], s.ready = nil, s.ready[1:]
		if e.state != ready {
			continue
		}
		e.state = out
		e.receives++
		e.part.running++
		got = append(got, s.message(e))
	}
	if len(s.ready) > 0 {
		signal(s.wake)
	}
	if len(got) == 0 {
		err, s.fault = s.fault, nil
	}
	return got, err
}

// makeReady makes a record available to the next Receive. The caller holds the lock.
func (s *Source) makeReady(e *entry) {
	if e == nil || e.part.leaving || e.state == ended || e.state == out {
		return
	}
	e.state = ready
	s.ready = append(s.ready, e)
	signal(s.wake)
}

// Extend checks that the partition is still assigned.
func (s *Source) Extend(_ context.Context, m worker.Message, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.find(m)
	return err
}

// Done ends a record. The source commits its offset soon after all earlier records have
// ended.
func (s *Source) Done(_ context.Context, m worker.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(m)
	if err != nil {
		s.dropped(m)
		return s.noted(m, prior{done: true}, err)
	}
	s.end(e)
	return nil
}

// end ends a record. The caller holds the lock.
func (s *Source) end(e *entry) {
	s.makeReady(e.part.end(e))
	s.throttle(e.part)
	signal(s.idle)
}

// Release hands a record out again after a delay.
func (s *Source) Release(_ context.Context, m worker.Message, r worker.Release) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(m)
	if err != nil {
		s.dropped(m)
		return s.noted(m, prior{until: time.Now().Add(r.Delay)}, err)
	}
	if e.state != out {
		return nil
	}
	e.state = waiting
	e.part.running--
	signal(s.idle)
	if r.Refund {
		e.receives--
	}
	s.delay(e, r.Delay)
	return nil
}

// delay makes a record ready after a delay. The caller holds the lock.
func (s *Source) delay(e *entry, d time.Duration) {
	if d <= 0 {
		s.makeReady(e)
		return
	}
	e.after = time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.makeReady(e)
	})
}

// Dropped reports that a message which the source took back has stopped.
func (s *Source) Dropped(m worker.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped(m)
}

// dropped records that a message of a lost partition no longer runs: it was stopped, or it
// ended while the partition was taken away. The caller holds the lock.
func (s *Source) dropped(m worker.Message) {
	r, err := parseReceipt(m.Receipt)
	if err != nil || r.life != s.life {
		return
	}
	p := s.serials[r.serial]
	if p == nil || !p.gone {
		return
	}
	if e := p.byOffset[r.offset]; e != nil && e.state == out {
		e.state = waiting
		p.running--
		if p.running == 0 {
			delete(s.serials, p.serial)
		}
		signal(s.idle)
	}
}

// find returns the record of a handed out message. The caller holds the lock.
func (s *Source) find(m worker.Message) (*entry, error) {
	r, err := parseReceipt(m.Receipt)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", worker.ErrLost, err)
	}
	if r.life != s.life {
		return nil, errPrior
	}
	p := s.serials[r.serial]
	if p == nil || p.gone {
		return nil, fmt.Errorf("%w: partition %d of %s belongs to another member", worker.ErrLost, r.partition, s.cfg.Topic)
	}
	e := p.byOffset[r.offset]
	if e == nil || e.state == ended {
		return nil, fmt.Errorf("%w: the record has already ended", worker.ErrLost)
	}
	return e, nil
}

// errPrior means that a receipt is from an earlier source.
var errPrior = errors.New("the receipt is from an earlier process")

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
