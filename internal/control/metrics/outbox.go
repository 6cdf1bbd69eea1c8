package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bezoar-dev/bezoar/outbox"
)

// Outbox holds the numbers of one outbox.
type Outbox struct {
	Name   string
	Stats  outbox.Stats  // of this process
	Status outbox.Status // of the database, as last read
	Known  bool          // Status was read
}

// maxOutboxTopics is the maximum number of topics per outbox with their own series.
const maxOutboxTopics = 500

func (e Engines) outboxes() part {
	leader := desc("outbox_leader", "1 while this process delivers the outbox.", "outbox")
	owned := desc("outbox_owned", "1 while any process delivers the outbox.", "outbox")
	epoch := desc("outbox_epoch", "Epoch of the lease, which grows with each takeover.", "outbox")
	events := desc("outbox_events", "Undelivered events, by state.", "outbox", "topic", "state")
	oldest := desc("outbox_oldest_seconds", "Age of the oldest undelivered event.", "outbox", "topic")
	lost := desc("outbox_lost_batches_total", "Batches taken over from processes that died while the batches were in flight.", "outbox")
	alarms := desc("outbox_alarm", "1 while the alarm lasts, by kind.", "outbox", "kind")
	descs := []*prometheus.Desc{leader, owned, epoch, events, oldest, lost, alarms}
	topics, topicDescs := outboxTopics()
	sinks, sinkDescs := outboxSinks()
	return part{append(append(descs, topicDescs...), sinkDescs...), func(out chan<- prometheus.Metric) {
		for _, o := range call(e.Outboxes) {
			out <- gauge(leader, yes(o.Stats.Leader), o.Name)
			out <- counter(lost, uint64(max(0, o.Stats.Lost)), o.Name)
			for _, kind := range outboxAlarms() {
				out <- gauge(alarms, yes(hasAlarm(o.Stats, kind)), o.Name, kind)
			}
			topics(out, o)
			sinks(out, o)
			if !o.Known {
				continue
			}
			st := o.Status
			out <- gauge(owned, yes(st.Lease.Epoch > 0 && st.Now.Before(st.Lease.Until)), o.Name)
			out <- gauge(epoch, float64(st.Lease.Epoch), o.Name)
			for _, t := range st.Topics[:min(len(st.Topics), maxOutboxTopics)] {
				out <- gauge(events, float64(t.Ready), o.Name, t.Topic, string(outbox.Ready))
				out <- gauge(events, float64(t.Retrying), o.Name, t.Topic, string(outbox.Retrying))
				out <- gauge(events, float64(t.Parked), o.Name, t.Topic, string(outbox.Parked))
				out <- gauge(events, float64(t.Behind), o.Name, t.Topic, string(outbox.Behind))
				if !t.Oldest.IsZero() {
					out <- gauge(oldest, max(0, st.Now.Sub(t.Oldest).Seconds()), o.Name, t.Topic)
				}
			}
		}
	}}
}

func outboxAlarms() []string {
	return []string{"database", "feed", "no-owner", "no-progress", "parked", "sink-paused", "slot", "unrouted", "wake"}
}

func hasAlarm(s outbox.Stats, kind string) bool {
	return slices.ContainsFunc(s.Alarms, func(a outbox.Alarm) bool { return a.Kind == kind })
}

func outboxTopics() (func(chan<- prometheus.Metric, Outbox), []*prometheus.Desc) {
	delivered := desc("outbox_delivered_total", "Events that this process delivered.", "outbox", "topic")
	bytes := desc("outbox_delivered_bytes_total", "Bytes of the payloads of events that this process delivered.", "outbox", "topic")
	batches := desc("outbox_batches_total", "Batches that this process sent.", "outbox", "topic")
	failed := desc("outbox_failed_total", "Failed deliveries that counted against their events.", "outbox", "topic")
	putOff := desc("outbox_put_off_total", "Failed deliveries because of the sink's destination, which did not count against events.", "outbox", "topic")
	parked := desc("outbox_parked_total", "Events that this process parked.", "outbox", "topic")
	delay := desc("outbox_delay_seconds", "Time from commit to delivery of the first event in the last batch.", "outbox", "topic")
	return func(out chan<- prometheus.Metric, o Outbox) {
		for _, t := range o.Stats.Topics[:min(len(o.Stats.Topics), maxOutboxTopics)] {
			for d, n := range map[*prometheus.Desc]int64{delivered: t.Delivered, bytes: t.Bytes, batches: t.Batches, failed: t.Failed, putOff: t.PutOff, parked: t.Parked} {
				out <- counter(d, uint64(max(0, n)), o.Name, t.Topic)
			}
			if t.Delivered > 0 {
				out <- gauge(delay, t.Age.Seconds(), o.Name, t.Topic)
			}
		}
	}, []*prometheus.Desc{delivered, bytes, batches, failed, putOff, parked, delay}
}

func outboxSinks() (func(chan<- prometheus.Metric, Outbox), []*prometheus.Desc) {
	paused := desc("outbox_sink_paused", "1 while the sink pauses because its destination is unreachable.", "outbox", "sink")
	pauses := desc("outbox_sink_pauses_total", "Pauses of the sink.", "outbox", "sink")
	latency := desc("outbox_sink_latency_seconds", "Duration of the sink's last batch.", "outbox", "sink")
	return func(out chan<- prometheus.Metric, o Outbox) {
		for _, s := range o.Stats.Sinks {
			out <- gauge(paused, yes(s.Paused), o.Name, s.Name)
			out <- counter(pauses, uint64(max(0, s.Pauses)), o.Name, s.Name)
			out <- gauge(latency, s.Latency.Seconds(), o.Name, s.Name)
		}
	}, []*prometheus.Desc{paused, pauses, latency}
}
