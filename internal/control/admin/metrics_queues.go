package admin

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

// Limits of queue metrics.
const (
	maxMetricQueues = 1000            // queues with metrics, by name
	metricPatience  = 5 * time.Second // time limit of one scrape
)

// queueCollector counts on demand. Labels contain the operators' queues, but never
// payloads, groups or callers.
type queueCollector struct {
	queues                         Queues
	triage                         *triage.Service
	messages, oldest, state        *prometheus.Desc
	letters, letterOldest, failing *prometheus.Desc
	tasks                          *prometheus.Desc
	vanished, mass, holders, held  *prometheus.Desc
	breaker, more                  *prometheus.Desc
}

func newQueueCollector(q Queues, t *triage.Service) *queueCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("bezoar_"+name, help, labels, nil)
	}
	return &queueCollector{
		queues: q, triage: t,
		messages:     desc("queue_messages", "Messages by state.", "queue", "state"),
		oldest:       desc("queue_oldest_seconds", "Age of the oldest message.", "queue"),
		state:        desc("queue_paused", "1 while the queue is paused and delivers only a canary.", "queue"),
		letters:      desc("dead_letters", "Dead letters.", "queue"),
		letterOldest: desc("dead_letter_oldest_seconds", "Age of the oldest dead letter in the newest 1000 groups.", "queue"),
		failing:      desc("dead_letter_groups", "Failure groups of dead letters, at most the newest 1000.", "queue"),
		tasks:        desc("redrive_letters", "Letters of running redrives, by outcome.", "outcome"),
		vanished:     desc("queue_workers_vanished_total", "Workers that vanished while they held messages."),
		mass:         desc("queue_workers_vanished_together_total", "Workers that vanished together with so many others that no message was blamed."),
		holders:      desc("queue_workers", "Connected workers that hold messages of this process."),
		held:         desc("queue_messages_held", "Messages held by connected workers."),
		breaker:      desc("queue_breaker_open", "1 while the breaker of a downstream group is not closed; closed breakers have no series.", "group"),
		more:         desc("queues_without_metrics", "1 if there are more queues than the maximum with metrics."),
	}
}

// Describe implements [prometheus.Collector].
func (c *queueCollector) Describe(out chan<- *prometheus.Desc) {
	describe(out, c.messages, c.oldest, c.state, c.letters, c.letterOldest, c.failing, c.tasks,
		c.vanished, c.mass, c.holders, c.held, c.breaker, c.more)
}

// Collect implements [prometheus.Collector]. It omits values that cannot be read.
func (c *queueCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), metricPatience)
	defer cancel()
	if c.queues != nil {
		c.collectQueues(ctx, out)
	}
	if c.triage != nil {
		c.collectLetters(ctx, out)
	}
}

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func counter(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

// yes is 1 for true.
func yes(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (c *queueCollector) collectQueues(ctx context.Context, out chan<- prometheus.Metric) {
	stats := c.queues.Stats()
	out <- counter(c.vanished, float64(stats.Vanished))
	out <- counter(c.mass, float64(stats.Mass))
	out <- gauge(c.holders, float64(stats.Workers))
	out <- gauge(c.held, float64(stats.Held))
	if conditions, err := c.queues.Conditions(ctx); err == nil {
		c.collectBreakers(conditions, out)
	}
	page, err := c.queues.Queues(ctx, queue.ListQuery{Limit: maxMetricQueues})
	if err != nil {
		return
	}
	out <- gauge(c.more, yes(page.Next != ""))
	for _, q := range page.Queues {
		out <- gauge(c.messages, float64(q.Visible), q.Name, "visible")
		out <- gauge(c.messages, float64(q.InFlight), q.Name, "in_flight")
		out <- gauge(c.messages, float64(q.Delayed), q.Name, "delayed")
		out <- gauge(c.oldest, time.Duration(q.Oldest).Seconds(), q.Name)
		out <- gauge(c.state, yes(q.State != "ok"), q.Name)
	}
}

// collectBreakers shows open breakers. Operators choose the group names, and any name is
// allowed.
func (c *queueCollector) collectBreakers(conditions []adminapi.Condition, out chan<- prometheus.Metric) {
	n := 0
	for _, is := range conditions {
		if is.Kind != "breaker" || is.State == "closed" || n == maxMetricQueues {
			continue
		}
		n++
		out <- gauge(c.breaker, 1, is.Name)
	}
}

func (c *queueCollector) collectLetters(ctx context.Context, out chan<- prometheus.Metric) {
	groups, err := c.triage.Groups(ctx, queue.Selection{}, triage.MaxGroups)
	if err != nil {
		return
	}
	type sum struct {
		letters, groups int64
		first           time.Time
	}
	sums := map[string]*sum{}
	for _, g := range groups {
		s := sums[g.Queue]
		if s == nil {
			if len(sums) >= maxMetricQueues {
				continue
			}
			s = &sum{first: g.First}
			sums[g.Queue] = s
		}
		s.letters, s.groups = s.letters+g.Count, s.groups+1
		if g.First.Before(s.first) {
			s.first = g.First
		}
	}
	now := time.Now()
	for name, s := range sums {
		if len(groups) == triage.MaxGroups { // there are more groups
			n, err := c.triage.Count(ctx, queue.Selection{Queue: name})
			if err != nil {
				return
			}
			s.letters = n
		}
		out <- gauge(c.letters, float64(s.letters), name)
		out <- gauge(c.failing, float64(s.groups), name)
		out <- gauge(c.letterOldest, now.Sub(s.first).Seconds(), name)
	}
	tasks, err := c.triage.Tasks(ctx, triage.TaskQuery{Live: true})
	if err != nil {
		return
	}
	var worked, again, waiting, left int64
	for _, t := range tasks {
		worked, again, waiting, left = worked+t.Succeeded, again+t.FailedAgain, waiting+t.Waiting, left+t.Planned-t.Moved
	}
	out <- gauge(c.tasks, float64(worked), "worked")
	out <- gauge(c.tasks, float64(again), "failed_again")
	out <- gauge(c.tasks, float64(waiting), "waiting")
	out <- gauge(c.tasks, float64(left), "left")
}
