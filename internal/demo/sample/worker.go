package sample

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Environment variables of a worker process.
const (
	EnvPort = "PORT"        // where to listen on the loopback address
	EnvBoot = "SAMPLE_BOOT" // how long starting takes, as a Go duration
)

// maxBacklog bounds the requests that wait for the loop; more are answered 503.
const maxBacklog = 1024

// Config is what a worker is started with. The zero Config listens on a port
// that the system picks.
type Config struct {
	Port int           // 0 to 65535
	Boot time.Duration // how long it "loads its index" before it listens
	Log  io.Writer     // nil discards
}

// ConfigFromEnv reads a Config from environment variables.
func ConfigFromEnv(getenv func(string) string) (Config, error) {
	var c Config
	var errs faults.List
	if s := getenv(EnvPort); s != "" {
		port, err := strconv.ParseUint(s, 10, 16)
		errs.If(err != nil, "%s %.20q is not a port number", EnvPort, s)
		c.Port = int(port)
	}
	if s := getenv(EnvBoot); s != "" {
		boot, err := time.ParseDuration(s)
		errs.If(err != nil, "%s %.20q is not a duration such as 700ms", EnvBoot, s)
		c.Boot = boot
	}
	return c, errors.Join(errs...)
}

// A Worker is one server.
type Worker struct {
	cfg  Config
	shop *catalogue
	loop chan func()
}

// New returns a worker that is not running yet.
func New(cfg Config) *Worker {
	cfg.Log = cmp.Or(cfg.Log, io.Discard)
	return &Worker{cfg: cfg, shop: newCatalogue(), loop: make(chan func(), maxBacklog)}
}

// Run serves until ctx ends, then finishes what is in flight and returns nil.
// A request may end the whole process instead.
func (w *Worker) Run(ctx context.Context) error {
	return w.Serve(ctx, func(addr string) { fmt.Fprintf(w.cfg.Log, "sample worker ready on %s\n", addr) })
}

// Serve is Run that calls ready with its address, host:port, once it listens.
func (w *Worker) Serve(ctx context.Context, ready func(addr string)) error {
	select {
	case <-time.After(w.cfg.Boot):
	case <-ctx.Done():
		return nil
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(w.cfg.Port))
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen for the sample worker: %w", err)
	}
	ready(l.Addr().String())

	srv := &http.Server{
		Handler:           w.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(w.cfg.Log, "", 0),
	}
	loopDone := make(chan struct{})
	go func() { // The event loop. Nothing recovers what happens in it.
		defer close(loopDone)
		for run := range w.loop {
			run()
		}
	}()
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	select {
	case err = <-served:
	case <-ctx.Done():
		if err = srv.Shutdown(context.WithoutCancel(ctx)); err == nil {
			err = <-served
		}
	}
	close(w.loop)
	<-loopDone
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// onLoop wraps h so that it runs on the one loop, in order of arrival, after
// its body has been read. A caller who hangs up is served all the same: the
// loop cannot know.
func (w *Worker) onLoop(h func(rw http.ResponseWriter, r *http.Request, body []byte)) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, 64<<10))
		if err != nil {
			http.Error(rw, "the body cannot be read", http.StatusBadRequest)
			return
		}
		done := make(chan struct{})
		select {
		// Not deferred: a panic must not let the handler answer 200 in the
		// moment that the process takes to die.
		case w.loop <- func() { h(rw, r, body); close(done) }:
			<-done
		default:
			http.Error(rw, "too many requests wait", http.StatusServiceUnavailable)
		}
	}
}
