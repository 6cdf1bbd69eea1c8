package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/errlog"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/queue"
)

// Queue is the source of messages; *queue.Engine implements it.
type Queue interface {
	Receive(ctx context.Context, name string, in queue.ReceiveInput) ([]queue.Message, error)
	Delete(ctx context.Context, name string, r queue.Receipt) error
	Release(ctx context.Context, name string, in queue.ReleaseInput) error
}

// Config configures a Pusher.
type Config struct {
	Queue       Queue
	Name        string        // of the queue
	URL         string        // http or https
	Concurrency int           // requests at once; 1 to 1,000, default 10
	Timeout     time.Duration // of one request; default 30 s
	Log         *slog.Logger  // nil discards
}

// Validate returns an error that names every invalid field.
func (c Config) Validate() error {
	var errs faults.List
	errs.If(c.Queue == nil || c.Name == "", "Queue or Name: is missing")
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		errs = append(errs, fmt.Errorf("URL: %.100q is not an http or https URL", c.URL))
	}
	errs.If(c.Concurrency < 0 || c.Concurrency > 1000, "Concurrency is %d, want 1 to 1000", c.Concurrency)
	errs.If(c.Timeout < 0 || c.Timeout > queue.MaxVisibility-margin, "Timeout is %v, want 0 to %v", c.Timeout, queue.MaxVisibility-margin)
	return errors.Join(errs...)
}

// margin is how much longer a lease is than the request's timeout.
const margin = 10 * time.Second

// Pusher delivers the messages of one queue. Call Run.
type Pusher struct {
	cfg    Config
	base   *url.URL
	client *http.Client
	worker string

	mu    sync.Mutex // guards the fields below; never held while waiting
	limit window
	busy  int
	begun int64         // requests so far
	room  chan struct{} // signalled when busy falls
}

func New(c Config) (*Pusher, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("push: %w", err)
	}
	c.Concurrency = cmp.Or(c.Concurrency, 10)
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	base, err := url.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("push: %w", err)
	}
	// Each request gets a new connection: if a reused one broke, it would look like a dead server, and net/http would send
	// some requests twice.
	t := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	return &Pusher{
		cfg: c, base: base, worker: "push to " + base.Host, room: make(chan struct{}, 1),
		client: &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		limit:  window{most: c.Concurrency, size: 1},
	}, nil
}

// Limit returns how many requests may run now.
func (p *Pusher) Limit() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limit.size
}

// Run delivers until ctx ends, then waits for the running requests, which the timeout limits. It logs errors of the store,
// and tries again.
func (p *Pusher) Run(ctx context.Context) error {
	var deliveries sync.WaitGroup
	defer p.client.CloseIdleConnections()
	defer deliveries.Wait()
	lease, wait := p.cfg.Timeout+margin, queue.MaxWait
	receiving := errlog.New(errlog.Config{Log: p.cfg.Log.With("queue", p.cfg.Name), What: "push"})
	for {
		free := p.free(ctx)
		if free == 0 {
			return nil
		}
		got, err := p.cfg.Queue.Receive(ctx, p.cfg.Name, queue.ReceiveInput{Max: free, Visibility: &lease, Wait: &wait, Worker: p.worker})
		if ctx.Err() != nil && len(got) == 0 {
			return nil
		}
		if err != nil {
			receiving.Failed("receive", err)
			pause(ctx, time.Second)
			continue
		}
		receiving.Passed()
		began := p.add(len(got))
		for _, m := range got {
			deliveries.Go(func() { p.deliver(context.WithoutCancel(ctx), m, began) })
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// free waits until another request may start, and returns how many may; 0 after ctx has ended.
func (p *Pusher) free(ctx context.Context) int {
	for ctx.Err() == nil {
		p.mu.Lock()
		n := p.limit.size - p.busy
		p.mu.Unlock()
		if n > 0 {
			return min(n, queue.MaxBatch)
		}
		select {
		case <-p.room:
		case <-ctx.Done():
		}
	}
	return 0
}

// underWay holds the running requests at the start of a request.
type underWay struct {
	busy  int // itself included
	begun int64
}

func (p *Pusher) add(n int) underWay {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy, p.begun = p.busy+n, p.begun+int64(n)
	return underWay{p.busy, p.begun}
}

// ended records the end of a request and what it says about the server. It returns how many requests, itself included, were
// running at any time since it began.
func (p *Pusher) ended(began underWay, ok, overloaded bool) (together int) {
	p.mu.Lock()
	p.busy--
	together = began.busy + int(p.begun-began.begun)
	switch {
	case overloaded:
		p.limit.shrink()
	case ok:
		p.limit.grow()
	}
	p.mu.Unlock()
	select {
	case p.room <- struct{}{}:
	default:
	}
	return together
}

// window is a limit that follows success: additive increase, multiplicative
// decrease (Jacobson, "Congestion Avoidance and Control", 1988).
type window struct{ size, most, wins int }

func (w *window) grow() {
	if w.wins++; w.wins >= w.size {
		w.size, w.wins = min(w.size+1, w.most), 0
	}
}

func (w *window) shrink() { w.size, w.wins = max(w.size/2, 1), 0 }
