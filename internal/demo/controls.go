package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/bezoar-dev/bezoar/internal/admin"
	"github.com/bezoar-dev/bezoar/internal/adminapi"
	"github.com/bezoar-dev/bezoar/internal/demo/traffic"
)

// A state is what the page's controls and score show.
type state struct {
	Paused    bool   `json:"paused"`
	Defence   bool   `json:"defence"`
	After     int    `json:"after"`
	MaxAfter  int    `json:"max_after"`
	Switching bool   `json:"switching"` // another fleet is being started
	Rate      int    `json:"rate"`
	Pills     []pill `json:"pills"`
	Score     score  `json:"counts"`
}

type pill struct {
	Name    traffic.Pill `json:"name"`
	Explain string       `json:"explain"`
}

type score struct {
	Without halfState `json:"without"`
	With    halfState `json:"with"`
}

// A halfState is one side of the score.
type halfState struct {
	PillsSent        int64   `json:"pills_sent"`
	PillsRefused     int64   `json:"pills_refused"`
	WorkersLost      int     `json:"workers_lost"`
	GoodSent         int64   `json:"good_sent"`
	GoodOK           int64   `json:"good_ok"`
	GoodFailed       int64   `json:"good_failed"`
	GoodWaiting      int64   `json:"good_waiting"`
	InnocentsRefused int64   `json:"innocents_refused"`
	P50MS            float64 `json:"p50_ms"`
	P99MS            float64 `json:"p99_ms"`
}

func (h half) state() halfState {
	c := h.tally.Counts()
	lost, _ := h.toll.count()
	return halfState{
		PillsSent: c.PillsSent, PillsRefused: c.PillsRefused, WorkersLost: lost,
		GoodSent: c.GoodSent, GoodOK: c.GoodOK, GoodFailed: c.GoodRefused + c.GoodLost,
		GoodWaiting: c.Waiting(), InnocentsRefused: c.GoodRefused,
		P50MS: milliseconds(c.P50), P99MS: milliseconds(c.P99),
	}
}

// controls serves what is below [admin.PathExtra].
func (s *Server) controls() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, h func(w http.ResponseWriter, r *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			var p *adminapi.Problem
			switch err := h(w, r); {
			case errors.As(err, &p):
				p.Write(w)
			case err != nil:
				adminapi.NewProblem(http.StatusBadRequest, adminapi.CodeInvalid, err.Error()).Write(w)
			default:
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Cache-Control", "no-store")
				_ = json.NewEncoder(w).Encode(s.state()) // the caller may be gone
			}
		})
	}
	handle("GET "+admin.PathExtra+"state", func(http.ResponseWriter, *http.Request) error { return nil })
	handle("POST "+admin.PathExtra+"set", s.set)
	handle("POST "+admin.PathExtra+"pill", s.fire)
	handle("POST "+admin.PathExtra+"reset", s.reset)
	return mux
}

func (s *Server) state() state {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := state{
		Defence: s.want.defence, After: s.want.after, MaxAfter: MaxAfter,
		Switching: s.want != s.now, Rate: s.cfg.Rate,
		Score: score{s.halves[0].state(), s.halves[1].state()},
	}
	st.Paused = s.crowd.Paused()
	for _, p := range traffic.Pills() {
		st.Pills = append(st.Pills, pill{p, p.Explain()})
	}
	return st
}

// set changes what is given and leaves the rest.
func (s *Server) set(w http.ResponseWriter, r *http.Request) error {
	var change struct {
		Paused  *bool `json:"paused"`
		Defence *bool `json:"defence"`
		After   *int  `json:"after"`
	}
	if err := decode(w, r, &change); err != nil {
		return err
	}
	if change.After != nil && (*change.After < 1 || *change.After > MaxAfter) {
		return fmt.Errorf("after %d: want 1 to %d", *change.After, MaxAfter)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if change.Paused != nil {
		s.crowd.Pause(*change.Paused)
	}
	if change.Defence != nil {
		s.want.defence = *change.Defence
	}
	if change.After != nil {
		s.want.after = *change.After
	}
	select {
	case s.changed <- struct{}{}:
	default: // there is word of a change already
	}
	return nil
}

// fire sends one dose of a pill and does not wait for what it does.
func (s *Server) fire(w http.ResponseWriter, r *http.Request) error {
	var which struct {
		Pill string `json:"pill"`
	}
	if err := decode(w, r, &which); err != nil {
		return err
	}
	p, err := traffic.ParsePill(which.Pill)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open || s.calls.Err() != nil {
		return adminapi.NewProblem(http.StatusServiceUnavailable, adminapi.CodeUnavailable, "the fleet does not serve")
	}
	select {
	case s.fires <- struct{}{}:
	default:
		return adminapi.NewProblem(http.StatusServiceUnavailable, adminapi.CodeUnavailable,
			fmt.Sprintf("%d pills are under way, which is all there may be", maxFires))
	}
	ctx := s.calls
	s.doses.Go(func() {
		defer func() { <-s.fires }()
		s.crowd.Fire(ctx, p)
	})
	what := "a pill is sent: " + string(p)
	if n := p.Dose(); n > 1 {
		what = fmt.Sprintf("%d pills are sent at once", n)
	}
	s.hub.Publish(adminapi.Event{Kind: "pill", Fleet: fleetName, Text: what})
	return nil
}

// reset starts the score again.
func (s *Server) reset(http.ResponseWriter, *http.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.halves {
		s.halves[i].tally = new(traffic.Tally)
		s.halves[i].toll.reset()
	}
	s.crowd.Count(s.halves[s.now.half()].tally)
	return nil
}

func decode(w http.ResponseWriter, r *http.Request, v any) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4<<10))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("the body is not what is asked for: %w", err)
	}
	return nil
}
