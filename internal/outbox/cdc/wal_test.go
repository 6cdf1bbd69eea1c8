package cdc

import (
	"os"
	"sync"
	"testing"
	"time"
)

// confirmed is how far the server knows the slot to be, in bytes of WAL.
func (b *base) confirmed() int64 {
	b.t.Helper()
	return one[int64](b, "SELECT (confirmed_flush_lsn - '0/0')::bigint FROM pg_replication_slots WHERE slot_name = $1", b.name)
}

// written is where the WAL ends.
func (b *base) written() int64 {
	b.t.Helper()
	return one[int64](b, "SELECT (pg_current_wal_lsn() - '0/0')::bigint")
}

func TestAQuietOutboxBesideABusyNeighbour(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	f := b.feed(nil)
	f.awaitReading(t)
	neighbour := database(t, b.server)
	for range 2 {
		neighbour.exec("SELECT box.write('t', payload => decode(repeat('00', 1000), 'hex')) FROM generate_series(1, 2000)")
		end := b.written()
		eventually(t, "the slot is past what the neighbour wrote", func() bool { return b.confirmed() >= end })
		// The WAL that the server keeps begins at restart_lsn, which a checkpoint moves.
		eventually(t, "the server may remove the WAL", func() bool {
			neighbour.exec("CHECKPOINT")
			return one[int64](b, "SELECT (restart_lsn - '0/0')::bigint FROM pg_replication_slots WHERE slot_name = $1", b.name) >= end
		})
	}
	if len(f.payloads()) != 0 {
		t.Fatal("the feed hands over the neighbour's events")
	}
}

// A transaction that is far larger than what the connection buffers, and a receiver
// that takes several times as long as the server waits for a sign of life.
func TestALargeTransactionAndASlowReceiver(t *testing.T) {
	t.Parallel()
	rows, stall := 20_000, 3*time.Second // 2 s is wal_sender_timeout
	if os.Getenv("BEZOAR_SOAK") != "" {
		rows, stall = 1_000_000, 20*time.Second
	}
	b := database(t, server(t))
	var once sync.Once
	f := b.feed(func() {
		once.Do(func() { <-time.After(stall) })
	})
	f.awaitReading(t)
	pid := f.Status().PID
	b.exec(`INSERT INTO box.events SELECT nextval('box.positions'), now(), g::text, 't', '', 0, 't', '{}', decode(repeat('00', 500), 'hex')
		FROM generate_series(1, $1::int) g`, rows)
	f.await(t, rows)
	if s := f.Status(); s.PID != pid {
		t.Fatalf("the connection did not last: %s", s)
	}
	_ = f.end()
	if len(f.got) != rows {
		t.Fatalf("%d records of %d", len(f.got), rows)
	}
	for i, r := range f.got {
		if r.Position != f.got[0].Position+int64(i) {
			t.Fatalf("record %d has position %d", i, r.Position)
		}
	}
}

// What is not handed over is not confirmed, however far the WAL goes on.
func TestWhatIsNotTakenIsNotConfirmed(t *testing.T) {
	t.Parallel()
	b := database(t, server(t))
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	f := b.feed(func() { <-gate })
	t.Cleanup(open)
	f.awaitReading(t)
	b.write("1")
	after := b.written()
	f.await(t, 1)
	neighbour := database(t, b.server)
	neighbour.write("x")
	reply := func() time.Time {
		return one[time.Time](b, "SELECT coalesce(max(reply_time), 'epoch') FROM pg_stat_replication WHERE pid = $1", f.Status().PID)
	}
	for range 2 {
		last := reply()
		eventually(t, "an answer to the server", func() bool { return reply().After(last) })
	}
	if got := b.confirmed(); got >= after {
		t.Fatalf("confirmed %d while the event before %d is not taken", got, after)
	}
	open()
	eventually(t, "the slot goes on", func() bool { return b.confirmed() >= after })
}
