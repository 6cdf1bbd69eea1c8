package shed_test

import (
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/policy/shed"
)

func BenchmarkDone(b *testing.B) {
	limit, level := shed.NewLimit(start, shed.Config{}), shed.NewLevel(start)
	now := start
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Millisecond)
		level.Arrived(200)
		if limit.Done(10, shed.Outcome{Latency: 10 * time.Millisecond}) {
			limit.Step(now)
		}
		if level.Done() {
			level.Step(now, limit.Now())
		}
	}
}

func BenchmarkQueue(b *testing.B) {
	var q shed.Queue
	for range 100 {
		q.Push(start, shed.Critical, time.Time{})
	}
	b.ReportAllocs()
	for b.Loop() {
		q.Push(start, shed.Critical, time.Time{})
		q.Pop(start, 0)
	}
}
