package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/bezoar-dev/bezoar/internal/control/admin"
)

// Described are the descriptions of everything that /metrics can show.
func (a *App) Described() []*prometheus.Desc {
	cfg := admin.Config{Queues: queueView{a.queues, a.wire}, Triage: a.triage, Alarms: a.alarmStates, Metrics: a.metrics()}
	ch := make(chan *prometheus.Desc)
	go func() {
		defer close(ch)
		for _, c := range admin.Collectors(cfg, backend{a}) {
			c.Describe(ch)
		}
	}()
	var out []*prometheus.Desc
	for d := range ch {
		out = append(out, d)
	}
	return out
}
