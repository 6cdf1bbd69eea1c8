package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/gateway/connlimit"
)

// maxBody is the maximum size of a request body: of an Add or a settings text of maximum
// size, in base64, plus the rest of the document.
const maxBody = max(adminapi.MaxAddBody*4/3+64<<10, adminapi.MaxMessageText, live.MaxText*4/3+64<<10)

// maxConns is the maximum number of connections, if there are enough descriptors.
const maxConns = 1024

// callPatience is the time limit of every call except redrives, which wait for the lane,
// and event streams.
const callPatience = 30 * time.Second

// Server is the admin API.
type Server struct {
	cfg     Config
	host    string // host of cfg.Address
	backend Backend
	hub     *Hub
	log     *slog.Logger
	boot    string // distinguishes this process's event IDs from others
	pace    pace
	streams chan struct{} // holds one token per open event stream
	closing chan struct{} // closed when streams must end
	handler http.Handler
	calls   []string // patterns of handler
	silent  sync.Map // holds the net.Conn values that have not sent a request yet
	conns   int      // maximum number of connections
}

// New returns a server for backend that streams the events of hub.
func New(cfg Config, backend Backend, hub *Hub) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	host, _, err := net.SplitHostPort(cfg.Address)
	if err != nil {
		return nil, err
	}
	conns := connlimit.Share(maxConns, connlimit.Operators)
	s := &Server{
		cfg: cfg, host: host, backend: backend, hub: hub, log: cfg.Log,
		boot:    strconv.FormatInt(time.Now().UnixMicro(), 36),
		pace:    pace{beat: 15 * time.Second, patience: 10 * time.Second},
		streams: make(chan struct{}, max(1, min(maxStreams, conns/2))),
		closing: make(chan struct{}),
		conns:   conns,
	}
	s.handler = s.guard(s.routes())
	return s, nil
}

// Handler returns the whole API with access control.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve serves on l until ctx ends. Then it gives calls up to five seconds to finish, and
// returns nil. It closes l. It may be called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	conns := connlimit.New(l, s.conns)
	srv := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		ConnState: func(c net.Conn, state http.ConnState) {
			if state == http.StateNew {
				s.silent.Store(c, nil)
			} else {
				s.silent.Delete(c)
			}
			conns.State(c, state)
		},
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(conns) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve the admin API on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	close(s.closing)
	s.silent.Range(func(c, _ any) bool {
		_ = c.(net.Conn).Close() // Shutdown would wait five seconds for it
		return true
	})
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		_ = srv.Close() // ends calls that did not finish
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the admin API on %s: %w", l.Addr(), err)
	}
	return nil
}

// Calls returns the patterns of all calls, such as "GET /livez".
func (s *Server) Calls() []string { return slices.Clone(s.calls) }

func (s *Server) routes() http.Handler {
	var api, mux adminapi.Mux
	short := func(pattern string, h handler) {
		api.Handle(pattern, s.bounded(h))
	}
	short("GET "+adminapi.PathQuarantine, asked(s.listVerdicts))
	short("POST "+adminapi.PathQuarantine, ordered(http.StatusCreated, s.addVerdict))
	short("GET "+adminapi.PathVerdict, asked(func(r *http.Request) (any, error) { return s.backend.Verdict(r.Context(), r.PathValue("id")) }))
	short("DELETE "+adminapi.PathVerdict, done(s.release))
	short("GET "+adminapi.PathLetters, asked(s.listLetters))
	short("GET "+adminapi.PathLetter, asked(func(r *http.Request) (any, error) { return s.backend.Letter(r.Context(), r.PathValue("id")) }))
	short("DELETE "+adminapi.PathLetter, done(s.discard))
	short("GET "+adminapi.PathFleets, whole(func(context.Context) (any, error) {
		return adminapi.Fleets{Fleets: list(s.backend.Fleets())}, nil
	}))
	short("POST "+adminapi.PathRestart, begun(http.StatusAccepted, s.restart))
	api.Handle("POST "+adminapi.PathRedrive, s.answered(asked(s.redrive)))
	api.Handle("GET "+adminapi.PathEvents, s.answered(s.events))
	for pattern, h := range s.queueRoutes() {
		short(pattern, h)
	}
	for pattern, h := range s.deadRoutes() {
		short(pattern, h)
	}
	for pattern, h := range s.settingsRoutes() {
		short(pattern, h)
	}
	for pattern, h := range s.breakerRoutes() {
		short(pattern, h)
	}
	if s.cfg.Health != nil {
		short("GET "+adminapi.PathHealth, whole(func(context.Context) (any, error) { return s.cfg.Health(), nil }))
	}
	short("GET "+adminapi.PathAlarms, whole(s.listAlarms))
	if s.cfg.Outboxes != nil {
		short("GET "+adminapi.PathOutboxes, whole(func(ctx context.Context) (any, error) {
			return adminapi.Outboxes{Outboxes: s.cfg.Outboxes(ctx)}, nil
		}))
		short("POST "+adminapi.PathOutboxDeeds, s.noteOutboxDeed)
	}
	if s.cfg.Top != nil {
		short("GET "+adminapi.PathTop, asked(s.listTop))
		short("GET "+adminapi.PathGuards, asked(s.listGuards))
	}
	if s.cfg.Description != nil {
		short("GET "+adminapi.PathDescription, s.describe)
	}
	if s.cfg.Triage != nil {
		api.Handle("GET "+adminapi.PathDeadExport, s.answered(s.export))
	}
	if s.cfg.Flows != nil {
		api.Handle(adminapi.PathFlows, s.cfg.Flows)
	}
	if s.cfg.Extra != nil {
		api.Handle(PathExtra, s.cfg.Extra)
	}
	api.Handle("/api/", s.answered(noSuchPath))

	mux.Handle("/api/", s.private(&api))
	mux.Handle("GET /metrics", s.private(s.metrics()))
	mux.Handle("GET /livez", orLive(s.cfg.Livez))
	mux.Handle("GET /readyz", s.answered(s.ready))
	if s.cfg.Healthz != nil {
		mux.Handle("GET /healthz", s.cfg.Healthz)
	}
	if s.cfg.Page != nil {
		mux.Handle("/", s.cfg.Page)
	}
	s.calls = append(api.Patterns(), mux.Patterns()...)
	return &mux
}

// describe returns the API description unchanged.
func (s *Server) describe(w http.ResponseWriter, r *http.Request) error {
	if q := known(r); q.err != nil {
		return q.err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.cfg.Description) // the client may have disconnected
	return nil
}

// bounded adds a deadline.
func (s *Server) bounded(h handler) http.Handler {
	return s.answered(func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), callPatience)
		defer cancel()
		return h(w, r.WithContext(ctx))
	})
}

// answered converts the error of h to a problem document.
func (s *Server) answered(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r)
		if err == nil || r.Context().Err() != nil {
			return // answered, or the client has disconnected
		}
		p := problemOf(err)
		if p.Status == http.StatusInternalServerError {
			s.log.Error("admin call failed", "method", r.Method, "path", r.URL.Path, "error", err)
		}
		p.Write(w)
	})
}

func problemOf(err error) *adminapi.Problem {
	for _, of := range []func(error) *adminapi.Problem{triageProblem, queueProblem, steeringProblem} {
		if p := of(err); p != nil {
			return p
		}
	}
	var p *adminapi.Problem
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, ledger.ErrNotFound):
		return adminapi.NewProblem(http.StatusNotFound, adminapi.CodeNotFound, "there is no object with this ID")
	case errors.As(err, &tooLarge):
		return adminapi.NewProblem(http.StatusRequestEntityTooLarge, adminapi.CodeTooLarge,
			fmt.Sprintf("the body may have at most %d bytes", tooLarge.Limit))
	case errors.Is(err, context.DeadlineExceeded):
		return adminapi.NewProblem(http.StatusGatewayTimeout, adminapi.CodeTimeout, "the call took too long")
	}
	return adminapi.NewProblem(http.StatusInternalServerError, adminapi.CodeInternal, "see the log")
}

func invalid(format string, args ...any) error { return adminapi.Invalid(format, args...) }

func noSuchPath(_ http.ResponseWriter, r *http.Request) error {
	if strings.HasPrefix(r.URL.Path, adminapi.PathFlows) {
		return adminapi.NewProblem(http.StatusNotFound, adminapi.CodeNotFound, "this Bezoar runs no flows: its settings have no flows")
	}
	return adminapi.NewProblem(http.StatusNotFound, adminapi.CodeNotFound,
		fmt.Sprintf("the API has no %s %.100s", r.Method, r.URL.Path))
}
