package cli

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/control/metrics"
	"github.com/bezoar-dev/bezoar/internal/gateway/connlimit"
)

// maxScrapes bounds the connections for metrics.
const maxScrapes = 64

// serveMetrics serves /metrics at an address of this machine until stop is called.
func (w *workShow) serveMetrics(ctx context.Context, address string) (stop func(), err error) {
	if !brokers.IsLoopback(address) {
		return nil, hinted(exitf(exitUsage, "--metrics %s can be reached from other machines", address), "use a loopback address, such as 127.0.0.1:9400")
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	w.metrics = metrics.NewWork(func() float64 {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.worker == nil {
			return 0
		}
		return float64(w.worker.Running())
	})
	registry := prometheus.NewRegistry()
	registry.MustRegister(w.metrics, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	conns := connlimit.New(l, connlimit.Share(maxScrapes, connlimit.Operators))
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ConnState: conns.State}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(conns) }()
	w.s.say("bezoar: metrics on http://%s/metrics", l.Addr())
	return func() {
		_ = srv.Close() // no reader needs a graceful end
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			w.s.say("bezoar: metrics: %v", err)
		}
	}, nil
}
