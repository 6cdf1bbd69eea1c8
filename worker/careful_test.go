package worker_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// Workers in containers that keep no state: what kills them is found out all the
// same, by the queue or by its receives, and nothing that is innocent is lost.
func TestAMessageThatKillsWorkersWithoutAPast(t *testing.T) {
	for _, kind := range []string{"bezoar", "foreign"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.create("dead", nil)
			r.create("jobs", func(s *queue.Settings) {
				if kind == "foreign" {
					s.Quarantine.Off, s.DeadLetter = true, queue.DeadLetter{Queue: "dead", MaxReceives: 3}
				}
			})
			done := t.TempDir()
			s := setup{
				URL: r.url + "jobs", Concurrency: 4, Visibility: 2 * time.Second,
				Script: fmt.Sprintf(`body=$(cat); case "$body" in die*) kill -KILL $PPID; sleep 10;; esac; sleep 0.2; echo "$body" > %s/$BEZOAR_MESSAGE_ID`, done),
			}
			dead := "jobs-dlq"
			if kind == "foreign" {
				s.URL, s.DeadLetter, dead = r.foreign+"jobs", r.foreign+"dead", "dead"
			}
			bodies := []string{"die of this message"}
			for i := range 5 {
				bodies = append(bodies, fmt.Sprintf("an innocent message, number %d", i))
			}
			r.send("jobs", bodies...)
			for deaths := 0; ; deaths++ {
				if deaths > 4 {
					t.Fatalf("%d workers died", deaths)
				}
				s.State = filepath.Join(t.TempDir(), "state")
				w := r.spawn(s)
				if survives(t, r, w, dead) {
					w.term(t)
					break
				}
			}
			files(t, done, 5)
			if m := r.messages(dead); len(m) != 1 || string(m[0].Body) != "die of this message" {
				t.Errorf("set aside was %+v", m)
			}
		})
	}
}
