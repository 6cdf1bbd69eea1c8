package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// alarmCollector shows the state of alarms. Labels contain their names from the settings.
type alarmCollector struct {
	alarms                                     func() []adminapi.Alarm
	firing, value, limit, looked, told, untold *prometheus.Desc
}

func newAlarmCollector(alarms func() []adminapi.Alarm) *alarmCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("bezoar_alarm_"+name, help, []string{"alarm"}, nil)
	}
	return &alarmCollector{
		alarms: alarms,
		firing: desc("firing", "1 while the alarm fires."),
		value:  desc("value", "Result of the last check: dead letters, or seconds."),
		limit:  desc("limit", "Value above which the alarm fires."),
		looked: desc("looked_timestamp_seconds", "Time of the last successful check."),
		told:   desc("told_total", "Notifications that this process sent."),
		untold: desc("untold_total", "Notifications that this process could not send."),
	}
}

// Describe implements [prometheus.Collector].
func (c *alarmCollector) Describe(out chan<- *prometheus.Desc) {
	describe(out, c.firing, c.value, c.limit, c.looked, c.told, c.untold)
}

// Collect implements [prometheus.Collector].
func (c *alarmCollector) Collect(out chan<- prometheus.Metric) {
	if c.alarms == nil {
		return
	}
	for _, a := range c.alarms() {
		out <- gauge(c.firing, yes(a.Firing), a.Name)
		out <- gauge(c.value, a.Value, a.Name)
		out <- gauge(c.limit, a.Limit, a.Name)
		if !a.Looked.IsZero() {
			out <- gauge(c.looked, float64(a.Looked.UnixNano())/float64(time.Second), a.Name)
		}
		out <- counter(c.told, float64(a.Told), a.Name)
		out <- counter(c.untold, float64(a.Untold), a.Name)
	}
}
