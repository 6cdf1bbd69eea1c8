package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/connlimit"
	"github.com/bezoar-dev/bezoar/internal/store"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// tellEvery is how often the log says that Bezoar still waits for the store.
const tellEvery = 5 * time.Second

// errNoStore is why Bezoar is not ready before it has its store. Everybody may read it, so details of the store are only in
// the log.
var errNoStore = errors.New("store unreachable")

// openStore opens the store, and waits for one that does not answer. Without the store Bezoar would not know what is
// quarantined and could not write attempts down first, so it must not serve. Any other error ends the wait at once.
func (a *App) openStore(ctx context.Context) (store.Stores, error) {
	cfg := store.Config{MaxLetters: maxLetters(a.cfg.Store)}
	stores, err := store.Open(ctx, a.cfg.Store, cfg)
	if err == nil || a.cfg.StoreWait == 0 || !store.Away(a.cfg.Store, err) {
		return stores, err
	}
	defer a.answerWaiting()()
	again := backoff.Config{Base: 250 * time.Millisecond, Cap: 3 * time.Second}
	began, told := time.Now(), time.Time{}
	for try := 1; ; try++ {
		left := a.cfg.StoreWait - time.Since(began)
		if left <= 0 {
			return stores, fmt.Errorf("waited %v for the store (store_wait), which did not answer: %w", a.cfg.StoreWait, err)
		}
		if time.Since(told) >= tellEvery {
			told = time.Now()
			a.log.Warn("the store does not answer; Bezoar serves nothing until it does", "left", left.Round(time.Second), "admin", a.AdminAddr(), "err", err)
		}
		select {
		case <-time.After(min(again.Wait(try, rand.Float64()), left)):
		case <-a.opt.Leave:
			return stores, fmt.Errorf("stopped while waiting for the store: %w", context.Canceled)
		case <-ctx.Done():
			return stores, fmt.Errorf("stopped while waiting for the store: %w", ctx.Err())
		}
		if stores, err = store.Open(ctx, a.cfg.Store, cfg); err == nil {
			a.log.Info("the store answers", "after", time.Since(began).Round(time.Millisecond))
			return stores, nil
		}
		if !store.Away(a.cfg.Store, err) {
			return stores, err
		}
	}
}

// maxWaiting bounds the connections to the admin address meanwhile.
const maxWaiting = 256

// answerWaiting answers health checks on the admin address before the admin API exists: the process is alive and not ready.
// The returned function ends that and leaves the listener to the admin API.
func (a *App) answerWaiting() (end func()) {
	ln, ok := a.adminLn.(*net.TCPListener)
	if !ok {
		return func() {}
	}
	mux := http.NewServeMux()
	mux.Handle("/livez", a.health.Livez())
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, "not ready: "+errNoStore.Error(), http.StatusServiceUnavailable)
	})
	conns := connlimit.New(borrowedListener{ln}, connlimit.Share(maxWaiting, connlimit.Operators))
	srv := &http.Server{
		ConnState: conns.State,
		Handler:   mux, ReadHeaderTimeout: time.Second, WriteTimeout: time.Second, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	srv.SetKeepAlivesEnabled(false) // so that clients connect again to the API
	served := make(chan error, 1)
	go func() { served <- srv.Serve(conns) }()
	return func() {
		within, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if srv.Shutdown(within) != nil {
			_ = srv.Close() // closes connections without a request
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			a.log.Warn("health checks could not be answered while Bezoar waited for the store", "err", err)
		}
		_ = ln.SetDeadline(time.Time{}) // fails only on a closed listener
	}
}

// borrowedListener is a listener whose Close ends Accept and leaves it open.
type borrowedListener struct{ *net.TCPListener }

// Close ends Accept calls, present and future.
func (l borrowedListener) Close() error { return l.SetDeadline(time.Unix(1, 0)) }
