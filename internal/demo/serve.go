package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/admin"
	"github.com/bezoar-dev/bezoar/internal/adminapi"
	"github.com/bezoar-dev/bezoar/internal/console"
	"github.com/bezoar-dev/bezoar/internal/demo/traffic"
)

// MaxAfter is the largest N that the page offers.
const MaxAfter = 5

// A Server is the demonstration that goes on: good traffic all the time, pills
// when somebody presses a button, and a defence that can be switched off, on a
// page beside the admin API.
type Server struct {
	cfg   Config
	log   *slog.Logger
	admin *admin.Server
	ln    net.Listener
	hub   admin.Hub // what the page is told; the stages have hubs of their own
	crowd *traffic.Crowd
	fires chan struct{}  // one token per dose under way
	doses sync.WaitGroup // the doses under way

	mu      sync.Mutex // guards the rest
	want    setting    // what was asked for
	now     setting    // what runs
	stage   stage      // that runs; nil at the start
	open    bool       // the crowd has somewhere to go
	changed chan struct{}
	halves  [2]half         // by setting.half
	calls   context.Context //nolint:containedctx // of the doses: they outlive the calls that fire them
}

// A setting is what the page can switch.
type setting struct {
	defence bool
	after   int // N
}

func (s setting) half() int {
	if s.defence {
		return 1
	}
	return 0
}

// A half is what one side of the score counts.
type half struct {
	tally *traffic.Tally
	toll  *toll
}

// maxFires bounds the doses under way; more are refused.
const maxFires = 32

// NewServer opens the admin address, host:port, which must be a loopback one.
func NewServer(cfg Config, address string, log *slog.Logger) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	cfg.Pill = ""
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		cfg: cfg, log: log, fires: make(chan struct{}, maxFires), changed: make(chan struct{}, 1),
		want: setting{defence: true, after: 2},
	}
	for i := range s.halves {
		s.halves[i] = half{new(traffic.Tally), new(toll)}
	}
	page, err := console.New(console.Config{Demo: true})
	if err != nil {
		return nil, err
	}
	if s.crowd, err = traffic.New(cfg.crowd(), ""); err != nil {
		return nil, err
	}
	s.admin, err = admin.New(admin.Config{Address: address, Page: page, Extra: s.controls(), Log: log}, backend{s}, &s.hub)
	if err != nil {
		return nil, err
	}
	if s.ln, err = net.Listen("tcp", address); err != nil {
		return nil, fmt.Errorf("listen for the page: %w", err)
	}
	return s, nil
}

// URL is where the page is.
func (s *Server) URL() string { return "http://" + s.ln.Addr().String() + "/" }

// Run serves until ctx ends or something fails, and leaves no process behind.
// Call it once.
func (s *Server) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.mu.Lock()
	s.calls = ctx
	s.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.admin.Serve(ctx, s.ln); err != nil {
			stop(err)
		}
	})
	err := s.stages(ctx)
	stop(err)
	wg.Wait()
	s.doses.Wait()
	return err
}

// stages runs the stage that is wanted, one after the other: the next is up
// before the last is stopped.
func (s *Server) stages(ctx context.Context) error {
	var crowd sync.WaitGroup
	defer crowd.Wait()
	var last *running
	defer func() { s.leave(last) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop() // the crowd, before the stage that it talks to
	for {
		s.mu.Lock()
		want := s.want
		s.mu.Unlock()
		next, err := s.begin(ctx, want)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil // it was asked to end before it had begun
		case err != nil:
			return err
		}
		s.take(want, next)
		if last == nil {
			crowd.Go(func() { _ = s.crowd.Run(ctx, 0) }) // ends with ctx, which is no error
		}
		s.leave(last)
		last = next
		if err := s.awaitChange(ctx, want, next); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// leave ends a stage. What it could not finish is said and harms nobody: the
// crowd is elsewhere.
func (s *Server) leave(r *running) {
	if err := r.end(); err != nil {
		s.log.Warn("the last fleet did not end well", "error", err)
	}
}

// take sends the crowd to a stage from now on.
func (s *Server) take(want setting, r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.stage, s.open = want, r.stage, true
	s.crowd.Count(s.halves[want.half()].tally)
	s.crowd.Aim(r.url)
	text := "the defence is off: a plain balancer retries whatever fails"
	if want.defence {
		text = fmt.Sprintf("the defence is on: a pill may cost %d workers", want.after)
	}
	s.hub.Publish(adminapi.Event{Kind: "demo", Text: text})
}

// awaitChange waits until something else is wanted than now.
func (s *Server) awaitChange(ctx context.Context, now setting, r *running) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-r.ended:
			r.ended <- err
			if ctx.Err() != nil {
				return nil // it was asked to
			}
			return errors.Join(errGone, err)
		case <-s.changed:
		}
		s.mu.Lock()
		want := s.want
		s.mu.Unlock()
		if want != now {
			return nil
		}
	}
}

// A running stage and what belongs to it.
type running struct {
	stage stage
	url   string
	stop  func()
	ended chan error // holds the one result of Run, always put back
	tail  sync.WaitGroup
}

// end stops the stage, waits for its last process and returns what Run did. It
// is safe on nil.
func (r *running) end() error {
	if r == nil {
		return nil
	}
	r.stop()
	err := <-r.ended
	r.tail.Wait()
	return err
}

// begin starts a stage and waits until it serves.
func (s *Server) begin(ctx context.Context, want setting) (*running, error) {
	var st stage
	var err error
	if want.defence {
		st, err = newGuarded(ctx, s.cfg, want.after)
	} else {
		st, err = newUnguarded(ctx, s.cfg)
	}
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	r := &running{stage: st, stop: stop, ended: make(chan error, 1)}
	ready := make(chan string, 1)
	go func() { r.ended <- st.Run(ctx, func(url string) { ready <- url }) }()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r.url = <-ready:
	case err := <-r.ended:
		stop()
		return nil, errors.Join(errors.New("the fleet did not start"), err)
	case <-timer.C:
		return nil, errors.Join(fmt.Errorf("the fleet did not start within %v", patience), r.end())
	}
	toll := s.halves[want.half()].toll
	seq := st.Events().Last() // what came before is the fleet's start
	r.tail.Go(func() {
		follow(ctx, st.Events(), seq, func(e adminapi.Event) {
			toll.add(e)
			s.hub.Publish(e)
		})
	})
	return r, nil
}
