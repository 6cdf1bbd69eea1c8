package postgres

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

// openOwn opens a schema of the test's own.
func openOwn(t *testing.T) *DB {
	t.Helper()
	at := os.Getenv("BEZOAR_TEST_POSTGRES")
	if at == "" {
		t.Skip("no PostgreSQL: run make test, or export BEZOAR_TEST_POSTGRES=$(scripts/postgres start)")
	}
	var random [8]byte
	rand.Read(random[:])
	db, err := Open(t.Context(), Config{URL: at, Schema: "test_" + hex.EncodeToString(random[:])})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := db.pool.Exec(context.Background(), "DROP SCHEMA "+db.queue.schema+" CASCADE")
		if err := errors.Join(err, db.Close()); err != nil {
			t.Error(err)
		}
	})
	return db
}

// claiming is a queue whose receives share a statement.
type claiming struct {
	*testing.T
	s  *queueStore
	id int64
}

// send sends a message for each letter, which is its payload.
func (c claiming) send(payloads string) {
	c.Helper()
	var entries []queue.Entry
	for i := range payloads {
		entries = append(entries, queue.Entry{
			SendInput: queue.SendInput{Body: []byte(payloads[i : i+1])}, ID: payloads[:i+1], Payload: bezoar.Fingerprint{payloads[i]},
		})
	}
	if _, err := c.s.Send(c.Context(), c.id, entries); err != nil {
		c.Fatal(err)
	}
}

// claim has workers receive that are named after how many they want.
func (c claiming) claim(together bool, want map[int]string, most ...int) {
	c.Helper()
	var all []claimant
	for _, n := range most {
		all = append(all, claimant{n, string(rune('0' + n))})
	}
	out, done, err := c.s.claim(c.Context(), claimKey{c.id, queue.Policy{}, time.Minute, time.Hour}, all)
	if err != nil {
		c.Fatal(err)
	}
	if done != together {
		c.Errorf("together is %v, want %v", done, together)
	}
	for i, one := range out {
		var got string
		for _, m := range one.Messages {
			got += string(m.Body)
		}
		if got != want[most[i]] {
			c.Errorf("who wants %d got %q, want %q", most[i], got, want[most[i]])
		}
	}
}

// Receives that share a statement get their own messages, in order; copies of
// one payload are not split among them.
func TestClaimTogether(t *testing.T) {
	s := openOwn(t).queue
	q, err := s.CreateQueue(t.Context(), queue.Queue{Name: "jobs", Settings: queue.DefaultSettings()})
	if err != nil {
		t.Fatal(err)
	}
	c := claiming{t, s, q.ID}
	c.send("abcdefg")
	c.claim(true, map[int]string{2: "ab", 3: "cde", 4: "fg"}, 2, 3, 4)
	c.claim(true, nil, 1, 2)
	c.send("xyyz")
	c.claim(false, nil, 2, 3) // the second y would go to the other one
	c.claim(true, map[int]string{1: "x", 3: "yyz"}, 1, 3)
	rows, err := s.db.pool.Query(t.Context(), "SELECT worker FROM "+s.schema+".queue_messages ORDER BY seq")
	if err != nil {
		t.Fatal(err)
	}
	workers, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if got := strings.Join(workers, ""); err != nil || got != "22333441333" {
		t.Errorf("the workers are %s, %v", got, err)
	}
}
