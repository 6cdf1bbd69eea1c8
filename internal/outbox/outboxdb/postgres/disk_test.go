//go:build linux

package postgres_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bezoar-dev/bezoar/internal/test/pgtest"
	"github.com/bezoar-dev/bezoar/outbox"
)

// TestFullDisk has the database's disk run full under load: what was committed is
// delivered once there is room, in order and without an event that was not committed; the
// relay goes on by itself.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk, err := os.MkdirTemp("", "bezoar-disk-") //nolint:usetesting // the test's own folder is closed to the user of the server
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(disk) })
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=192m,mode=755"); err != nil {
		t.Skip("NOT RUN: a disk of its own cannot be mounted here: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	server := pgtest.StartIn(t, disk, "max_wal_size = 48MB", "min_wal_size = 32MB", "fsync = off")
	t.Cleanup(server.Remove)
	d := newOutbox(t, connect(t, server.URL("postgres")))
	s, r := relayTo(t, outbox.Config{Store: d.Store, ParkAfter: 1})
	d.write(t, "first")
	eventually(t, "it is delivered", func() bool { return len(s.got()) == 1 })

	committed := []string{"first"}
	write := func() error {
		id := fmt.Sprint(len(committed))
		tx, err := d.Begin(t.Context())
		if err != nil {
			return err
		}
		if err := tx.Write(t.Context(), outbox.Event{ID: id, Topic: "t", Key: "k", Payload: make([]byte, 1<<20)}); err != nil {
			return errors.Join(err, tx.Rollback(t.Context()))
		}
		if err := tx.Commit(t.Context()); err != nil {
			return err
		}
		committed = append(committed, id)
		return nil
	}
	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	var refused *pgconn.PgError
	for err = nil; err == nil; err = write() { // until a table cannot grow
		fill(t, filler)
	}
	if !errors.As(err, &refused) || refused.Code != "53100" {
		t.Fatalf("with a full disk it says %v", err)
	}
	t.Logf("after %d events: %v", len(committed), err)
	for err = nil; err == nil; { // until the log cannot: the server ends itself
		fill(t, filler)
		_, err = d.pool.Exec(t.Context(), `SELECT pg_logical_emit_message(false, 'test', repeat('x', 1 << 20))`)
	}
	t.Logf("then: %v", err)
	eventually(t, "the relay says that the database is away", func() bool {
		return slices.ContainsFunc(r.Stats().Alarms, func(a outbox.Alarm) bool {
			return (a.Kind == "database" || a.Kind == "no-owner") && strings.Contains(a.What, "bezoar@127.0.0.1")
		})
	})
	t.Log(r.Stats().Alarms)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if d.pool.Ping(t.Context()) != nil { // it could not even recover
		server.Revive(t)
	}
	eventually(t, "writing goes on", func() bool { return write() == nil })
	eventually(t, "all is delivered", func() bool {
		n, err := d.Store.Count(t.Context(), outbox.Query{})
		return err == nil && n == 0
	})
	if got := slices.Compact(s.got()); !slices.Equal(got, committed) {
		t.Errorf("%v were delivered, want %v", got, committed)
	}
}

// fill takes what is left of the disk.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zeros := make([]byte, 1<<20)
	for size := len(zeros); size >= 1<<12; {
		if _, err := f.Write(zeros[:size]); err != nil {
			if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, io.ErrShortWrite) {
				t.Fatal(err)
			}
			size /= 2
		}
	}
}
