package flowapi

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// patience is the time limit of every call except followed logs.
const patience = 30 * time.Second

// Server answers HTTP calls about flows.
type Server struct {
	flows Flows
	log   *slog.Logger
	mux   adminapi.Mux
}

// NewServer returns a handler for all paths below [adminapi.PathFlows]. The caller must check who may call it. log receives
// calls that failed because of the server; nil discards.
func NewServer(f Flows, log *slog.Logger) *Server {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	s := &Server{flows: f, log: log}
	for pattern, h := range map[string]handler{
		"GET " + PathFlows:     s.list,
		"GET " + PathRuns:      s.runs,
		"POST " + PathRuns:     s.start,
		"GET " + PathRun:       s.run,
		"GET " + PathInstances: s.instances,
		"GET " + PathAttempts:  s.attempts,
		"POST " + PathOrders:   s.order,
	} {
		s.mux.Handle(pattern, s.answered(func(w http.ResponseWriter, r *http.Request) error {
			ctx, cancel := context.WithTimeout(r.Context(), patience)
			defer cancel()
			return h(w, r.WithContext(ctx))
		}))
	}
	s.mux.Handle("GET "+PathLogs, s.answered(s.logs))
	s.mux.Handle("/", s.answered(func(_ http.ResponseWriter, r *http.Request) error {
		return missing("the API of flows has no %s %.100s", r.Method, r.URL.Path)
	}))
	return s
}

func (s *Server) Calls() []string { return s.mux.Patterns() }

type handler func(http.ResponseWriter, *http.Request) error

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// answered turns an error into a problem document.
func (s *Server) answered(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r)
		if err == nil || r.Context().Err() != nil {
			return // answered, or the caller is gone
		}
		p, ok := errors.AsType[*adminapi.Problem](err)
		_, tooLarge := errors.AsType[*http.MaxBytesError](err)
		switch {
		case ok:
		case tooLarge:
			p = adminapi.NewProblem(http.StatusRequestEntityTooLarge, adminapi.CodeTooLarge, "the body is too large")
		case errors.Is(err, context.DeadlineExceeded):
			p = adminapi.NewProblem(http.StatusGatewayTimeout, adminapi.CodeTimeout, "it took too long")
		default:
			s.log.Error("a call about flows failed", "method", r.Method, "path", r.URL.Path, "err", err)
			p = adminapi.NewProblem(http.StatusInternalServerError, adminapi.CodeInternal, "see the log")
		}
		p.Write(w)
	})
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) error {
	all, err := s.flows.Flows(r.Context())
	return adminapi.Answer(w, http.StatusOK, List{all}, err)
}

func (s *Server) runs(w http.ResponseWriter, r *http.Request) error {
	q, err := adminapi.Query(r.URL, "flow", "state", "backfill", "before", "limit")
	if err != nil {
		return err
	}
	rq := RunQuery{Flow: q.Get("flow"), State: flow.RunState(q.Get("state")), Backfill: q.Get("backfill"), Before: q.Get("before")}
	if rq.Limit, err = adminapi.Number(q, "limit", 1, MaxPage); err != nil {
		return err
	}
	all, err := s.flows.Runs(r.Context(), rq)
	return adminapi.Answer(w, http.StatusOK, Runs{all}, err)
}

func (s *Server) start(w http.ResponseWriter, r *http.Request) error {
	var in Start
	if err := adminapi.Decode(w, r, MaxOrder, &in); err != nil {
		return err
	}
	in.Who = r.Header.Get(adminapi.HeaderActor)
	run, err := s.flows.Start(r.Context(), in)
	return adminapi.Answer(w, http.StatusCreated, run, err)
}

func (s *Server) run(w http.ResponseWriter, r *http.Request) error {
	run, err := s.flows.Run(r.Context(), r.PathValue("run"))
	return adminapi.Answer(w, http.StatusOK, run, err)
}

func (s *Server) instances(w http.ResponseWriter, r *http.Request) error {
	q, err := adminapi.Query(r.URL, "task", "state", "offset", "limit")
	if err != nil {
		return err
	}
	iq := InstanceQuery{Task: q.Get("task"), State: task.State(q.Get("state"))}
	if iq.Offset, err = adminapi.Number(q, "offset", 0, flow.MaxInstances); err != nil {
		return err
	}
	if iq.Limit, err = adminapi.Number(q, "limit", 1, MaxPage); err != nil {
		return err
	}
	all, err := s.flows.Instances(r.Context(), r.PathValue("run"), iq)
	return adminapi.Answer(w, http.StatusOK, Instances{all}, err)
}

func (s *Server) attempts(w http.ResponseWriter, r *http.Request) error {
	q, err := adminapi.Query(r.URL, "task", "index", "after", "limit")
	if err != nil {
		return err
	}
	aq := AttemptQuery{Task: q.Get("task")}
	if q.Get("index") != "" {
		n, err := adminapi.Number(q, "index", 0, flow.MaxInstances)
		if err != nil {
			return err
		}
		aq.Index = &n
	}
	after, err := adminapi.Number(q, "after", 0, 1<<62)
	if err != nil {
		return err
	}
	aq.After = int64(after)
	if aq.Limit, err = adminapi.Number(q, "limit", 1, MaxPage); err != nil {
		return err
	}
	all, err := s.flows.Attempts(r.Context(), r.PathValue("run"), aq)
	return adminapi.Answer(w, http.StatusOK, Attempts{all}, err)
}

func (s *Server) order(w http.ResponseWriter, r *http.Request) error {
	var o Order
	if err := adminapi.Decode(w, r, MaxOrder, &o); err != nil {
		return err
	}
	o.Who = r.Header.Get(adminapi.HeaderActor)
	done, err := s.flows.Order(r.Context(), r.PathValue("run"), o)
	return adminapi.Answer(w, http.StatusAccepted, done, err)
}

// logs sends a log as plain bytes. Their content is untrusted, so they are never sent as HTML.
func (s *Server) logs(w http.ResponseWriter, r *http.Request) error {
	q, err := adminapi.Query(r.URL, "offset", "follow")
	if err != nil {
		return err
	}
	token, err := strconv.ParseInt(r.PathValue("token"), 10, 64)
	if err != nil {
		return missing("an attempt's token is a number, not %.40q", r.PathValue("token"))
	}
	offset, err := adminapi.Number(q, "offset", 0, 1<<62)
	if err != nil {
		return err
	}
	follow := q.Get("follow") == "1"
	if text := q.Get("follow"); text != "" && text != "0" && !follow {
		return adminapi.Invalid("follow %.40q: want 0 or 1", text)
	}
	log, err := s.flows.Logs(r.Context(), r.PathValue("run"), token, int64(offset), follow)
	if err != nil {
		return err
	}
	defer log.Close()
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	copyOut(w, log)
	return nil
}

// copyOut flushes after every read, for a followed log.
func copyOut(w http.ResponseWriter, log io.Reader) {
	c := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for {
		n, err := log.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return // the reader is gone
			}
			_ = c.Flush() // without flushing, the data is sent at the end
		}
		if err != nil {
			return
		}
	}
}
