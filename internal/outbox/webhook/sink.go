package webhook

import (
	"context"
	"net/http"
	"sync"

	"github.com/bezoar-dev/bezoar/internal/outbox/outgoing"
	"github.com/bezoar-dev/bezoar/outbox"
)

const (
	// patience is the number of consecutive endpoint failures after which Send starts no
	// further requests.
	patience = 8
	// batchBytes is the approximate maximum size of a batch's body.
	batchBytes = 1 << 20
)

// Sink sends events to an HTTP endpoint. Create it with [New].
type Sink struct {
	cfg    Config
	client *http.Client
}

// New returns a sink. It does not connect.
func New(c Config) (*Sink, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxConnsPerHost, transport.MaxIdleConnsPerHost = 0, c.Parallel
	return &Sink{cfg: c, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close closes idle connections.
func (s *Sink) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

func (s *Sink) Send(ctx context.Context, records []outbox.Record) []error {
	if s.cfg.Mode == Batched {
		return s.batches(ctx, records)
	}
	w := &work{sink: s, records: records, results: outgoing.All(len(records), outbox.ErrBehind)}
	lanes := make(chan []int)
	var working sync.WaitGroup
	all := outgoing.Lanes(records)
	for range min(s.cfg.Parallel, len(all)) {
		working.Go(func() {
			for lane := range lanes {
				w.lane(ctx, lane)
			}
		})
	}
	for _, lane := range all {
		lanes <- lane
	}
	close(lanes)
	working.Wait()
	return w.results
}

// work is the state of one call of Send.
type work struct {
	sink    *Sink
	records []outbox.Record
	results []error // each lane writes its own entries

	mu     sync.Mutex // guards misses
	misses int        // consecutive failures
}

// lane sends the records of one key.
func (w *work) lane(ctx context.Context, lane []int) {
	for _, i := range lane {
		if w.over() {
			return
		}
		err := ctx.Err()
		if err == nil {
			err = w.sink.one(ctx, &w.records[i])
		}
		w.results[i] = err
		w.count(err)
		if err != nil {
			return
		}
	}
}

func (w *work) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.misses >= patience
}

func (w *work) count(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil || outgoing.IsRefused(err) {
		w.misses = 0
	} else {
		w.misses++
	}
}

func (s *Sink) one(ctx context.Context, r *outbox.Record) error {
	if err := check(r); err != nil {
		return err
	}
	if s.cfg.Mode == Structured {
		return s.post(ctx, r.ID, http.Header{"Content-Type": {outgoing.StructuredType}}, outgoing.AppendStructured(nil, r, s.cfg.Source))
	}
	header, body := s.binary(r)
	return s.post(ctx, r.ID, header, body)
}

func check(r *outbox.Record) error {
	if err := outgoing.CheckHeaders(r); err != nil {
		return err
	}
	return outgoing.CheckTexts(r)
}

// batch is the state of one call of Send in batched mode.
type batch struct {
	sink    *Sink
	records []outbox.Record
	bodies  [][]byte
	results []error
	failed  map[outgoing.Lane]bool
	away    bool
}

// batches sends records in batches, one request after another.
func (s *Sink) batches(ctx context.Context, records []outbox.Record) []error {
	b := &batch{
		sink: s, records: records, bodies: make([][]byte, len(records)), results: outgoing.All(len(records), outbox.ErrBehind),
		failed: map[outgoing.Lane]bool{},
	}
	var some []int
	size := 0
	for i := range records {
		body := outgoing.AppendStructured(nil, &records[i], s.cfg.Source)
		b.bodies[i] = body
		if len(some) > 0 && (len(some) == s.cfg.Batch || size+len(body) > batchBytes) {
			b.send(ctx, some)
			some, size = nil, 0
		}
		some, size = append(some, i), size+len(body)
	}
	b.send(ctx, some)
	return b.results
}

// send sends a batch, and halves of it while the endpoint refuses it.
func (b *batch) send(ctx context.Context, some []int) {
	if b.away {
		return
	}
	var going []int
	var records []*outbox.Record
	body := []byte{'['}
	for _, i := range some {
		r := &b.records[i]
		if b.behind(r) {
			continue
		}
		if err := check(r); err != nil {
			b.fail(i, err)
			continue
		}
		if len(going) > 0 {
			body = append(body, ',')
		}
		body = append(body, b.bodies[i]...)
		going, records = append(going, i), append(records, r)
	}
	if len(going) == 0 {
		return
	}
	err := ctx.Err()
	if err == nil {
		err = b.sink.post(ctx, batchID(records), http.Header{"Content-Type": {outgoing.BatchedType}}, append(body, ']'))
	}
	if outgoing.IsRefused(err) && len(going) > 1 {
		b.send(ctx, going[:len(going)/2])
		b.send(ctx, going[len(going)/2:])
		return
	}
	b.away = err != nil && !outgoing.IsRefused(err)
	for _, i := range going {
		switch {
		case err == nil:
			b.results[i] = nil
		case !b.behind(&b.records[i]):
			b.fail(i, err)
		}
	}
}

func (b *batch) behind(r *outbox.Record) bool { return r.Key != "" && b.failed[outgoing.LaneOf(r)] }

func (b *batch) fail(i int, err error) {
	b.results[i] = err
	b.failed[outgoing.LaneOf(&b.records[i])] = true
}
