package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Work is a collector that counts the messages of bezoar work.
type Work struct {
	messages *prometheus.CounterVec
	took     prometheus.Histogram
	rows     prometheus.Counter
	running  prometheus.GaugeFunc
}

// NewWork returns counters at zero. running returns the number of messages that run now.
func NewWork(running func() float64) *Work {
	return &Work{
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "work_messages_total", Help: "Finished deliveries, by class and outcome of the message.",
		}, []string{"class", "outcome"}),
		took: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "work_seconds", Help: "Running time of messages.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 10),
		}),
		rows:    prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "work_rows_total", Help: "Single rows that were set aside."}),
		running: prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + "work_running", Help: "Messages that run now."}, running),
	}
}

// Ended counts a finished delivery. elapsed is 0 for one that did not run.
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
