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
	"github.com/bezoar-dev/bezoar/internal/connlimit"
	"github.com/bezoar-dev/bezoar/worker"
)

// maxScrapes bounds the connections of those who read the metrics.
const maxScrapes = 64

// workMetrics counts messages for Prometheus.
type workMetrics struct {
	registry *prometheus.Registry
	messages *prometheus.CounterVec
	took     prometheus.Histogram
	rows     prometheus.Counter
}

func newWorkMetrics(running func() float64) *workMetrics {
	m := &workMetrics{
		registry: prometheus.NewRegistry(),
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "bezoar_work_messages_total", Help: "Deliveries that have ended, by class and by what became of the message."}, []string{"class", "outcome"}),
		took:     prometheus.NewHistogram(prometheus.HistogramOpts{Name: "bezoar_work_seconds", Help: "How long messages ran.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 10)}),
		rows:     prometheus.NewCounter(prometheus.CounterOpts{Name: "bezoar_work_rows_total", Help: "Rows that were set aside by themselves."}),
	}
	m.registry.MustRegister(
		m.messages, m.took, m.rows, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "bezoar_work_running", Help: "Messages that run now."}, running),
	)
	return m
}

func (m *workMetrics) tell(e worker.Event) {
	m.messages.WithLabelValues(e.Class.String(), string(e.Outcome)).Inc()
	m.rows.Add(float64(e.Rows))
	if e.Elapsed > 0 {
		m.took.Observe(e.Elapsed.Seconds())
	}
}

// serveMetrics serves /metrics at an address of this machine until stop is called.
func (w *workShow) serveMetrics(ctx context.Context, address string) (stop func(), err error) {
	if !brokers.IsLoopback(address) {
		return nil, hinted(exitf(exitUsage, "--metrics %s can be reached from other machines", address), "127.0.0.1:9400 cannot")
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	w.metrics = newWorkMetrics(func() float64 {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.worker == nil {
			return 0
		}
		return float64(w.worker.Running())
	})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(w.metrics.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	conns := connlimit.New(l, connlimit.Share(maxScrapes, connlimit.Operators))
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ConnState: conns.State}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(conns) }()
	w.s.say("bezoar: metrics on http://%s/metrics", l.Addr())
	return func() {
		_ = srv.Close() // nobody waits for anything
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			w.s.say("bezoar: metrics: %v", err)
		}
	}, nil
}
