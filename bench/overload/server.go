package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

// The headers of a request.
const (
	priorityHeader = "X-Priority"
	callerHeader   = "X-Caller"
	timeoutHeader  = "X-Request-Timeout"
)

// server does so much at once, the others wait, and it does not notice when they
// leave: most servers do not look until they write.
type server struct {
	slots   chan struct{}
	service time.Duration
	pool    *overload.Pool // nil: none
}

// Serve is the server's process: bare, behind a pool, or behind one that is full.
// It prints its address and ends with its standard input.
func Serve(ctx context.Context, cfg Config, how string, stdin io.Reader, stdout io.Writer) error {
	s := &server{slots: make(chan struct{}, cfg.Workers), service: cfg.Service}
	settings := overload.Config{} // it is not told what the server can do
	switch how {
	case "bare":
	case "full":
		settings = overload.Config{Limit: shed.Config{Fixed: 1}, Queue: overload.Off}
		fallthrough
	case "pool":
		pool, err := overload.New(settings)
		if err != nil {
			return err
		}
		s.pool = pool
	default:
		return fmt.Errorf("serve %q: want bare, pool or full", how)
	}
	if how == "full" {
		if _, refusal := s.pool.Enter(ctx, overload.Request{}); refusal != nil {
			return fmt.Errorf("fill the pool: %v", refusal)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	web := &http.Server{Handler: s.handler(), ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		_ = web.Close()
	}()
	fmt.Fprintln(stdout, l.Addr())
	if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/work", s.guard(s.work))
	mux.HandleFunc("/page", s.guard(page))
	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return mux
}

// guard puts the pool in front of a handler.
func (s *server) guard(next http.HandlerFunc) http.HandlerFunc {
	if s.pool == nil {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		var req overload.Request
		req.Priority, _ = shed.ParsePriority(r.Header.Get(priorityHeader)) // an unknown one is Critical
		req.Caller, _ = strconv.ParseUint(r.Header.Get(callerHeader), 10, 64)
		if d, err := time.ParseDuration(r.Header.Get(timeoutHeader)); err == nil {
			req.Deadline = time.Now().Add(d)
		}
		pass, refusal := s.pool.Enter(r.Context(), req)
		if refusal != nil {
			w.Header().Set("Retry-After", strconv.Itoa(int(refusal.RetryAfter/time.Second)))
			http.Error(w, refusal.Reason, http.StatusServiceUnavailable)
			return
		}
		began := time.Now()
		defer func() { s.pool.Leave(pass, shed.Outcome{Latency: time.Since(began)}) }()
		next(w, r)
	}
}

// work takes the service time of one worker.
func (s *server) work(w http.ResponseWriter, _ *http.Request) {
	s.slots <- struct{}{}
	<-time.After(s.service)
	<-s.slots
	_, _ = io.WriteString(w, "done\n")
}

// row is what page's callers send and get.
type row struct {
	Name  string   `json:"name"`
	Price float64  `json:"price"`
	Tags  []string `json:"tags"`
}

// page is what a small service does for one request: it reads rows, sorts them
// and answers with them.
func page(w http.ResponseWriter, r *http.Request) {
	var rows []row
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&rows); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.Price, b.Price) })
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(rows) // the caller may be gone
}

// body is what is sent to page: about so many KiB.
func body(kib int) []byte {
	var rows []row
	for i := range 12 * kib {
		rows = append(rows, row{
			Name:  fmt.Sprintf("article number %d", i*7919%997),
			Price: float64(i*104729%9973) / 100,
			Tags:  []string{"in stock", "ships tomorrow"},
		})
	}
	text, err := json.Marshal(rows)
	if err != nil {
		panic(err) // of a constant
	}
	return text
}
