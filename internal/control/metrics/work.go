package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Work counts what bezoar work does with messages. It is a collector.
type Work struct {
	messages *prometheus.CounterVec
	took     prometheus.Histogram
	rows     prometheus.Counter
	running  prometheus.GaugeFunc
}

// NewWork returns counters at zero. running says how many messages run now.
func NewWork(running func() float64) *Work {
	return &Work{
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "work_messages_total", Help: "Deliveries that have ended, by class and by what became of the message.",
		}, []string{"class", "outcome"}),
		took: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "work_seconds", Help: "How long messages ran.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 10),
		}),
		rows:    prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "work_rows_total", Help: "Rows that were set aside by themselves."}),
		running: prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + "work_running", Help: "Messages that run now."}, running),
	}
}

// Ended counts a delivery that has ended. Elapsed is 0 for one that did not run.
func (w *Work) Ended(class, outcome string, rows int, elapsed time.Duration) {
	w.messages.WithLabelValues(class, outcome).Inc()
	w.rows.Add(float64(rows))
	if elapsed > 0 {
		w.took.Observe(elapsed.Seconds())
	}
}

func (w *Work) parts() []prometheus.Collector {
	return []prometheus.Collector{w.messages, w.took, w.rows, w.running}
}

// Describe implements [prometheus.Collector].
func (w *Work) Describe(out chan<- *prometheus.Desc) {
	for _, c := range w.parts() {
		c.Describe(out)
	}
}

// Collect implements [prometheus.Collector].
func (w *Work) Collect(out chan<- prometheus.Metric) {
	for _, c := range w.parts() {
		c.Collect(out)
	}
}
