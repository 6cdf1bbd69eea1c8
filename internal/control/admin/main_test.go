package admin

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backendStub is a Backend over two maps.
type backendStub struct {
	mu       sync.Mutex
	verdicts map[string]bezoar.Verdict
	letters  map[string]bezoar.Letter
	fleets   []adminapi.Fleet
	added    adminapi.Add
	asked    ledger.LetterQuery
	down     error // what Ready returns
	fail     error // what every other method returns
	slow     chan struct{}
}

func newBackendStub() *backendStub {
	v := bezoar.Verdict{ID: "q-000000000001", State: bezoar.Quarantined, Fleet: "shop", Reason: "it crashed the lane"}
	l := bezoar.Letter{ID: "dl-000000000001", Fleet: "shop", Request: bezoar.Request{Method: "GET", Target: "/<script>"}}
	return &backendStub{
		verdicts: map[string]bezoar.Verdict{v.ID: v},
		letters:  map[string]bezoar.Letter{l.ID: l},
		fleets: []adminapi.Fleet{{
			Name: "shop", State: "ok", Managed: true,
			Rollout: &adminapi.Rollout{Number: 4, State: "stopped", Workers: 3, Why: "2 new processes ended", Stopped: 3},
			Workers: []adminapi.Worker{
				{Name: "shop/0", State: "ready", InFlight: 2, Restarts: 3},
				{Name: "shop/1", State: "ready", Lane: true},
				{Name: "shop/2", State: "down", Restarts: 1},
			},
			Lane:     adminapi.Lane{Worker: "shop/1", Open: true, Waiting: 4},
			Recovery: &adminapi.Recovery{Runs: 1},
			Counters: map[string]int64{"refused": 7, "lane_runs": 5, "held_back": 6},
		}},
	}
}

func (s *backendStub) Verdicts(context.Context, string) ([]bezoar.Verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []bezoar.Verdict
	for _, v := range s.verdicts {
		all = append(all, v)
	}
	return all, s.fail
}

func (s *backendStub) Verdict(_ context.Context, id string) (bezoar.Verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.verdicts[id]
	if !ok {
		return v, ledger.ErrNotFound
	}
	return v, s.fail
}

func (s *backendStub) Quarantine(_ context.Context, a adminapi.Add) (bezoar.Verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.added = a
	return bezoar.Verdict{ID: "q-000000000002", Manual: true}, s.fail
}

func (s *backendStub) Release(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.verdicts[id]; !ok {
		return ledger.ErrNotFound
	}
	delete(s.verdicts, id)
	return s.fail
}

func (s *backendStub) Letters(_ context.Context, q ledger.LetterQuery) ([]bezoar.Letter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = q
	var all []bezoar.Letter
	for _, l := range s.letters {
		all = append(all, l)
	}
	return all, s.fail
}

func (s *backendStub) Letter(_ context.Context, id string) (bezoar.Letter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.letters[id]
	if !ok {
		return l, ledger.ErrNotFound
	}
	return l, s.fail
}

func (s *backendStub) Discard(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.letters[id]; !ok {
		return ledger.ErrNotFound
	}
	delete(s.letters, id)
	return s.fail
}

func (s *backendStub) Redrive(ctx context.Context, id string) (adminapi.Redriven, error) {
	if s.slow != nil {
		select {
		case <-s.slow:
		case <-ctx.Done():
			return adminapi.Redriven{}, ctx.Err()
		}
	}
	return adminapi.Redriven{ID: id, Outcome: adminapi.Answered, Status: 200}, s.fail
}

func (s *backendStub) Fleets() []adminapi.Fleet { return s.fleets }

func (s *backendStub) Restart(_ context.Context, fleet string) (adminapi.Restarting, error) {
	if fleet != "shop" {
		return adminapi.Restarting{}, ledger.ErrNotFound
	}
	return adminapi.Restarting{Fleet: fleet, Workers: 3}, s.fail
}

func (s *backendStub) Ready() error { return s.down }

// start serves backend on a loopback port until the test ends.
func start(t *testing.T, cfg Config, backend Backend, hub *Hub) (s *Server, base string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Address == "" {
		cfg.Address = l.Addr().String()
	}
	if s, err = New(cfg, backend, hub); err != nil {
		l.Close()
		t.Fatal(err)
	}
	s.pace = pace{beat: 20 * time.Millisecond, patience: 50 * time.Millisecond}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	return s, "http://" + l.Addr().String()
}
