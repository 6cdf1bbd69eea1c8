package postgres

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

// Receives that share a statement get their own messages, in order; copies of
// one payload are not split among them.
func TestClaimTogether(t *testing.T) {
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
	defer func() {
		if _, err := db.pool.Exec(t.Context(), "DROP SCHEMA "+db.queue.schema+" CASCADE"); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := db.queue
	q, err := s.CreateQueue(t.Context(), queue.Queue{Name: "jobs", Settings: queue.DefaultSettings()})
	if err != nil {
		t.Fatal(err)
	}
	send := func(payloads string) {
		var entries []queue.Entry
		for i, p := range payloads {
			entries = append(entries, queue.Entry{
				SendInput: queue.SendInput{Body: []byte(payloads[i : i+1])}, ID: payloads[:i+1], Payload: bezoar.Fingerprint{byte(p)},
			})
		}
		if _, err := s.Send(t.Context(), q.ID, entries); err != nil {
			t.Fatal(err)
		}
	}
	key := claimKey{q.ID, queue.Policy{}, time.Minute, time.Hour}
	claim := func(most ...int) (got []string, done bool) {
		var all []claimant
		for _, n := range most {
			all = append(all, claimant{n, string(rune('0' + n))})
		}
		out, done, err := s.claim(t.Context(), key, all)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range out {
			text := ""
			for _, m := range one.Messages {
				text += string(m.Body)
			}
			got = append(got, text)
		}
		return got, done
	}
	want := func(got []string, done bool, wantDone bool, wanted ...string) {
		t.Helper()
		if len(got) != len(wanted) || done != wantDone {
			t.Fatalf("got %q, done %v; want %q, %v", got, done, wanted, wantDone)
		}
		for i := range got {
			if got[i] != wanted[i] {
				t.Fatalf("got %q, want %q", got, wanted)
			}
		}
	}
	send("abcdefg")
	got, done := claim(2, 3, 4)
	want(got, done, true, "ab", "cde", "fg")
	got, done = claim(1, 1)
	want(got, done, true, "", "")
	send("xyyz")
	got, done = claim(2, 2) // the second y would go to the other one
	want(got, done, false, "", "")
	got, done = claim(1, 3)
	want(got, done, true, "x", "yyz")
	var workers []string
	rows, err := db.pool.Query(t.Context(), "SELECT worker FROM "+s.schema+".queue_messages ORDER BY seq")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var w string
		if err := rows.Scan(&w); err != nil {
			t.Fatal(err)
		}
		workers = append(workers, w)
	}
	if len(workers) != 11 || workers[0] != "2" || workers[4] != "3" || workers[6] != "4" || workers[7] != "1" || workers[10] != "3" {
		t.Errorf("the workers are %v", workers)
	}
	got, done = claim(1)
	want(got, done, true, "")
}
