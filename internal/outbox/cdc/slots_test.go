package cdc

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/test/pgtest"
)

func (b *base) look(p *Panel) (*Report, SlotReport) {
	b.t.Helper()
	r, err := p.Look(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	for _, s := range r.Slots {
		if s.Name == b.name {
			return r, s
		}
	}
	b.t.Fatalf("slot %s is not in %+v", b.name, r)
	return nil, SlotReport{}
}

// fill writes WAL of about so many MiB.
func (b *base) fill(mib int) {
	b.t.Helper()
	b.exec("SELECT pg_logical_emit_message(false, 'fill', repeat('x', 1024 * 1024)) FROM generate_series(1, $1::int)", mib)
}

func TestThePanelNamesWhatHoldsTheWAL(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	p, err := NewPanel(PanelConfig{URL: b.server.URL(b.name), Schema: "box", Room: 200 << 20})
	if err != nil {
		t.Fatal(err)
	}
	f := b.feed(nil)
	f.awaitReading(t)
	r, s := b.look(p)
	if s.Alarm != "" || s.HeldBy != "" || s.PID == 0 || s.Health != Reading || !strings.HasPrefix(s.Reader, "bezoar cdc") || s.Kind != "pgoutput" || r.Free == nil {
		t.Fatalf("a slot that is read: %+v", s)
	}
	_ = f.end()
	b.fill(80)
	eventually(t, "the slot is nobody's", func() bool { _, s = b.look(p); return s.PID == 0 })
	if s.Retained < 70<<20 || !strings.Contains(s.HeldBy, "no reader since 2") || s.LimitIn == nil ||
		!strings.HasPrefix(s.Alarm, "the disk is full in ") || !strings.Contains(s.Alarm, "held by the slot") || s.Health != Stopped {
		t.Fatalf("a slot that nobody reads: %+v", s)
	}
	b.dropSlot()
	if _, s = b.look(p); s.Status != "gone" {
		t.Fatalf("a slot that is gone: %+v", s)
	}
}

func TestAlarmsOfSlots(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	hour, ago, mib := int64(3600), now.Add(-2*time.Minute), int64(1<<20)
	disk := 3 * hour * mib // 3 h at 1 MiB/s
	for _, c := range []struct {
		name       string
		slot       SlotReport
		free       *int64
		open, want string
	}{
		{"a transaction", SlotReport{Kind: plugin, PID: 1, Retained: 500 * mib, Behind: mib}, &disk, "the transaction of app", "the disk is full in 3 h; held by the transaction of app"},
		{"a slow reader", SlotReport{Kind: plugin, PID: 1, Reader: "r", Retained: 500 * mib, Behind: 400 * mib}, &disk, "the transaction of app", "the disk is full in 3 h; held by its reader (r), which has not confirmed 400.0 MiB"},
		{"a standby", SlotReport{Kind: "physical", PID: 1, Reader: "s2 from 10.0.0.2", Retained: 500 * mib}, &disk, "", "the disk is full in 3 h; held by the standby s2 from 10.0.0.2"},
		{"a limit", SlotReport{Kind: plugin, Inactive: &now, Retained: 500 * mib, Safe: new(hour * mib)}, &disk, "", "the slot is lost in 60 min; held by the slot: no reader since 2026-01-02T03:04:05Z"},
		{"unknown disk", SlotReport{Kind: plugin, Retained: 2048 * mib}, nil, "", "the server keeps 2.0 GiB of WAL; held by the slot: no reader"},
		{"lost", SlotReport{Kind: plugin, Status: "lost"}, &disk, "", "the slot is lost: the server removed WAL that it needs, because of max_slot_wal_keep_size"},
		{"broken", SlotReport{Kind: plugin, PID: 1, Health: Broken, Reason: "why"}, &disk, "", "why"},
		{"failing", SlotReport{Kind: plugin, PID: 1, Health: Failing, Reason: "why", Since: &ago}, &disk, "", "its reader has been failing since 2026-01-02T03:02:05Z: why"},
		{"failing only now", SlotReport{Kind: plugin, PID: 1, Health: Failing, Reason: "why", Since: &now}, &disk, "", ""},
		{"well", SlotReport{Kind: plugin, PID: 1, Retained: 30 * mib}, &disk, "the transaction of app", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Report{At: now, Free: c.free}
			c.slot.hold(c.open)
			c.slot.project(r, float64(mib))
			c.slot.alarm(r)
			if c.slot.Alarm != c.want {
				t.Fatalf("got  %q\nwant %q", c.slot.Alarm, c.want)
			}
		})
	}
}

// A server that keeps little WAL loses a slot that nobody reads. The feed makes it
// anew; a capture stops.
func TestASlotWhoseWALIsRemoved(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t, "max_slot_wal_keep_size = 16MB", "max_wal_size = 32MB", "min_wal_size = 32MB", "fsync = off")
	t.Cleanup(s.Remove)
	b := database(t, s)
	b.exec("CREATE TABLE items (id int PRIMARY KEY)")
	f := b.feed(nil)
	f.awaitReading(t)
	captures := func() (*Capture, func()) {
		return b.capture(func(c *CaptureConfig) { c.Slot += "_2"; c.Publication += "_2" }, Table{Name: "items"})
	}
	c, end := captures()
	c.await(t, Reading)
	end()
	_ = f.end()
	p, err := NewPanel(PanelConfig{URL: b.server.URL(b.name), Schema: "box"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the slot is lost", func() bool {
		b.fill(20)
		b.exec("SELECT pg_switch_wal()")
		b.exec("CHECKPOINT")
		_, s := b.look(p)
		return s.Status == "lost" && strings.Contains(s.Alarm, "the slot is lost")
	})
	b.write("1")
	f.start(t)
	f.awaitReading(t)
	if s := f.Status(); !strings.Contains(s.Reason, "removed WAL") {
		t.Fatalf("status %s", s)
	}
	b.write("2")
	eventually(t, "the feed hands over", func() bool { return fmt.Sprint(f.payloads()) == "[2]" })
	c, _ = captures()
	c.await(t, Broken)
	if s := c.Status(); !strings.Contains(s.Reason, "removed WAL") {
		t.Fatalf("status %s", s)
	}
}
