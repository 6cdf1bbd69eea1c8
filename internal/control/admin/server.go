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

// maxBody bounds a request's body: an Add whose own body, or settings whose text
// is as large as it may be, in base64, with what is around.
const maxBody = max(adminapi.MaxAddBody*4/3+64<<10, adminapi.MaxMessageText, live.MaxText*4/3+64<<10)

// maxConns bounds the connections, where there are descriptors for so many.
const maxConns = 1024

// callPatience bounds every call but redrives, which wait for the lane, and
// event streams.
const callPatience = 30 * time.Second

// A Server is the admin API.
type Server struct {
	cfg     Config
	host    string // of cfg.Address
	backend Backend
	hub     *Hub
	log     *slog.Logger
	boot    string // tells this process's event ids from others'
	pace    pace
	streams chan struct{} // one token per open event stream
	closing chan struct{} // closed when streams must end
	handler http.Handler
	calls   []string // the patterns of handler
	silent  sync.Map // of net.Conn: those that have not asked for anything yet
	conns   int      // at once, when it serves
}

// New returns a server that shows backend and streams what hub is told.
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

// Handler returns the whole API, guarded.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve answers on l until ctx ends, then lets calls finish for up to five
// seconds and returns nil. It closes l. It may be called once.
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
		_ = c.(net.Conn).Close() // or Shutdown would give it five seconds
		return true
	})
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		_ = srv.Close() // calls that would not finish
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the admin API on %s: %w", l.Addr(), err)
	}
	return nil
}

// Calls are the patterns of all that this server answers, such as "GET /livez".
func (s *Server) Calls() []string { return slices.Clone(s.calls) }

func (s *Server) routes() http.Handler {
	var api, mux adminapi.Mux
	short := func(pattern string, h func(http.ResponseWriter, *http.Request) error) {
		api.Handle(pattern, s.bounded(h))
	}
	short("GET "+adminapi.PathQuarantine, s.listVerdicts)
	short("POST "+adminapi.PathQuarantine, s.addVerdict)
	short("GET "+adminapi.PathVerdict, s.getVerdict)
	short("DELETE "+adminapi.PathVerdict, s.release)
	short("GET "+adminapi.PathLetters, s.listLetters)
	short("GET "+adminapi.PathLetter, s.getLetter)
	short("DELETE "+adminapi.PathLetter, s.discard)
	short("GET "+adminapi.PathFleets, s.listFleets)
	short("POST "+adminapi.PathRestart, s.restart)
	api.Handle("POST "+adminapi.PathRedrive, s.answered(s.redrive))
	api.Handle("GET "+adminapi.PathEvents, s.answered(s.events))
	for pattern, h := range s.queueRoutes() {
		short(pattern, h)
	}
	for pattern, h := range s.deadRoutes() {
		short(pattern, h)
	}
	for pattern, h := range s.steeringRoutes() {
		short(pattern, h)
	}
	if s.cfg.Limiting != nil {
		short("GET "+adminapi.PathGuardLimits, s.guardLimits)
		short("PUT "+adminapi.PathGuardLimits, s.putGuardLimits)
	}
	if s.cfg.Health != nil {
		short("GET "+adminapi.PathHealth, s.health)
	}
	short("GET "+adminapi.PathAlarms, s.listAlarms)
	if s.cfg.Outboxes != nil {
		short("GET "+adminapi.PathOutboxes, s.listOutboxes)
		short("POST "+adminapi.PathOutboxDeeds, s.noteOutboxDeed)
	}
	if s.cfg.Top != nil {
		short("GET "+adminapi.PathTop, s.listTop)
		short("GET "+adminapi.PathGuards, s.listGuards)
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

// describe answers the description as it stands.
func (s *Server) describe(w http.ResponseWriter, r *http.Request) error {
	if _, err := known(r.URL); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.cfg.Description) // the caller may be gone
	return nil
}

// bounded is answered with a deadline.
func (s *Server) bounded(h func(http.ResponseWriter, *http.Request) error) http.Handler {
	return s.answered(func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), callPatience)
		defer cancel()
		return h(w, r.WithContext(ctx))
	})
}

// answered turns the error of h into a problem document.
func (s *Server) answered(h func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r)
		if err == nil || r.Context().Err() != nil {
			return // answered, or nobody is there to hear it
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
		return adminapi.NewProblem(http.StatusNotFound, adminapi.CodeNotFound, "nothing has this id")
	case errors.As(err, &tooLarge):
		return adminapi.NewProblem(http.StatusRequestEntityTooLarge, adminapi.CodeTooLarge,
			fmt.Sprintf("the body may have %d bytes", tooLarge.Limit))
	case errors.Is(err, context.DeadlineExceeded):
		return adminapi.NewProblem(http.StatusGatewayTimeout, adminapi.CodeTimeout, "it took too long")
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

// reply sends v whole.
func reply(w http.ResponseWriter, status int, v any) error { return adminapi.Reply(w, status, v) }

// answer is reply, unless there is an error.
func answer(w http.ResponseWriter, status int, v any, err error) error {
	return adminapi.Answer(w, status, v, err)
}

// decode reads one bounded JSON document.
func decode(w http.ResponseWriter, r *http.Request, v any) error {
	return adminapi.Decode(w, r, maxBody, v)
}
