package kafka

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/bezoar-dev/bezoar/worker"
)

// When another member comes, what runs of the partitions that it takes may end; what
// does not is stopped, and is the other's only after it has.
func TestARebalance(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 4)
	var log bytes.Buffer // read after what writes it has handed its partitions over
	c.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	for p := range int32(4) {
		c.produce(keyed(p, fmt.Sprint("k", p), fmt.Sprint("k", p))...)
	}
	one := c.opened()
	running := take(t, one, 4)
	c.cfg.Log = nil
	two := c.source()
	opened := make(chan error, 1)
	go func() {
		_, err := two.Open(t.Context())
		opened <- err
	}()
	t.Cleanup(func() { _ = two.Close() })
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	got := make(chan []worker.Message, 1)
	go func() { got <- take(t, two, 2) }()
	var lost []worker.Message
	until(t, "two partitions are lost", func() bool {
		lost = lost[:0]
		for _, m := range running {
			select {
			case <-m.Lost:
				lost = append(lost, m)
			default:
			}
		}
		return len(lost) == 2
	})
	select {
	case all := <-got:
		t.Fatalf("%v came to the next owner before they had stopped at the last one", values(all))
	default: // it cannot prove much, but fails when nobody waits
	}
	one.Dropped(lost[0])
	if err := one.Done(t.Context(), lost[1]); !isLost(err) { // which ended a moment too late
		t.Errorf("done, after it was lost: %v", err)
	}
	next := <-got
	if strings.Contains(log.String(), "has not ended") {
		t.Errorf("the rebalance waited for what had ended:\n%s", &log)
	}
	if !sameIDs(next, lost) {
		t.Errorf("the next owner has %v, want %v", ids(next), ids(lost))
	}
	for _, m := range running {
		if err := one.Extend(t.Context(), m, time.Minute); isLost(err) != contains(lost, m) {
			t.Errorf("extend %s: %v", m.ID, err)
		}
	}
}

func contains(all []worker.Message, m worker.Message) bool {
	for i := range all {
		if all[i].ID == m.ID {
			return true
		}
	}
	return false
}

func sameIDs(a, b []worker.Message) bool {
	for i := range a {
		if !contains(b, a[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

// What ends while a rebalance waits is committed, and does not run again.
func TestWhatEndsDuringARebalance(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.cfg.Drain = time.Minute
	c.produce(append(keyed(0, "a"), keyed(1, "b")...)...)
	one := c.opened()
	running := take(t, one, 2)
	two := c.opened()
	until(t, "a partition is leaving", func() bool {
		one.mu.Lock()
		defer one.mu.Unlock()
		for _, p := range one.parts {
			if p.leaving {
				return true
			}
		}
		return false
	})
	for _, m := range running {
		if err := one.Done(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	c.produce(append(keyed(0, "-"), keyed(1, "-")...)...)
	seen := append(take(t, two, 1), take(t, one, 1)...)
	for _, m := range seen {
		if string(m.Body) != "-0" {
			t.Errorf("%s came again", m.Body)
		}
	}
}

// A partition whose oldest record does not end fills its share and is left alone, while
// others go on.
func TestAFullPartition(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.cfg.MaxRecords = 100
	const n = 2000
	value := bytes.Repeat([]byte("v"), 100)
	var all []*kgo.Record
	for range n {
		all = append(all, &kgo.Record{Key: []byte("stuck"), Value: value}, &kgo.Record{Partition: 1, Value: value})
	}
	c.produce(all...)
	s := c.opened()
	stuck := 0
	for done := 0; done < n; {
		for _, m := range take(t, s, 1) {
			if m.Group == "stuck" {
				stuck++
				continue
			}
			if err := s.Done(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			done++
		}
	}
	s.mu.Lock()
	held := s.parts[0].records
	s.mu.Unlock()
	if stuck != 1 || held > 50+2*pollRecords {
		t.Errorf("%d of the stuck key were handed out, %d records are held", stuck, held)
	}
}

// noise are bytes that no compression makes fewer.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b) // it never fails
	return b
}

// Large records are held up to the bound, and those of one fetch.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.cfg.MaxRecords, c.cfg.MaxBytes = 200, 1<<20
	big := noise(300 << 10)
	const n = 30
	for range n { // each is a batch, which is the least that a broker sends
		c.produce(&kgo.Record{Value: big})
	}
	s := c.opened()
	most := 0
	for range n {
		m := take(t, s, 1)[0]
		s.mu.Lock()
		most = max(most, s.parts[0].bytes)
		s.mu.Unlock()
		if err := s.Done(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if most > 4<<20 {
		t.Errorf("%d bytes were held, of a bound of 1 MiB and one fetch", most)
	}
}

// Of partitions that were lost nothing is committed or reported, and what runs of them is
// stopped; they come back with what had not ended.
func TestLostPartitions(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.produce(keyed(0, "a", "b")...)
	s := c.opened()
	all := take(t, s, 2)
	if err := s.Done(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	until(t, "it is committed", func() bool { return c.committed(0) == 1 })
	c.fake.ControlKey(int16(kmsg.Heartbeat), func(req kmsg.Request) (kmsg.Response, error, bool) {
		resp := req.ResponseKind().(*kmsg.HeartbeatResponse)
		resp.ErrorCode = kerr.UnknownMemberID.Code
		return resp, nil, true
	})
	<-all[1].Lost
	if err := s.Done(t.Context(), all[1]); !isLost(err) {
		t.Errorf("done, after it was lost: %v", err)
	}
	s.Dropped(all[1])
	if again := take(t, s, 1)[0]; string(again.Body) != "b1" {
		t.Errorf("%s came again, want b1", again.Body)
	}
}
