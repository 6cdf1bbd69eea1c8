package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/store/postgres"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// sound holds the tables to what must be true of them whenever nobody works.
func sound(t *testing.T, schema string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), server(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	soundOn(t, conn, schema)
}

func soundOn(t *testing.T, conn *pgx.Conn, schema string) {
	t.Helper()
	for what, statement := range map[string]string{
		"buckets whose tally is wrong": `SELECT count(*) FROM {schema}.queues q WHERE (SELECT count(*) FROM {schema}.queue_messages m WHERE m.bucket = q.bucket)
			<> coalesce((SELECT sum(n) FROM {schema}.queue_tallies a WHERE a.bucket = q.bucket), 0)`,
		"messages without a payload": `SELECT count(*) FROM {schema}.queue_messages m WHERE NOT EXISTS (SELECT FROM {schema}.queue_payloads p WHERE p.payload = m.payload)`,
		"payloads without a message": `SELECT count(*) FROM {schema}.queue_payloads p WHERE NOT EXISTS (SELECT FROM {schema}.queue_messages m WHERE p.payload = m.payload)`,
		"letters without a message": `SELECT count(*) FROM {schema}.queue_letters l WHERE NOT EXISTS (
			SELECT FROM {schema}.queue_messages m WHERE (m.bucket, m.seq) = (l.bucket, l.seq) AND m.letter)`,
		"deaths without a letter": `SELECT count(*) FROM {schema}.queue_deaths d FULL JOIN {schema}.queue_letters l USING (bucket, seq)
			WHERE d.died IS DISTINCT FROM l.died`,
		"messages without their letter": `SELECT count(*) FROM {schema}.queue_messages m WHERE m.letter AND NOT EXISTS (
			SELECT FROM {schema}.queue_letters l WHERE (m.bucket, m.seq) = (l.bucket, l.seq))`,
		"groups that nobody would find": `SELECT count(DISTINCT (m.bucket, m.grp)) FROM {schema}.queue_messages m JOIN {schema}.queues q ON q.bucket = m.bucket
			WHERE m.grp IS NOT NULL AND m.due = 0 AND NOT EXISTS (SELECT FROM {schema}.queue_groups g WHERE (g.bucket, g.grp) = (m.bucket, m.grp))`,
	} {
		var n int
		if err := conn.QueryRow(context.Background(), inSchema(schema, statement)).Scan(&n); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
}

// Two processes on one store share the work: nobody gets what another one
// holds, and a FIFO group's order holds across both.
func TestQueueShared(t *testing.T) {
	t.Parallel()
	const groups, each = 6, 40
	c := postgres.Config{URL: server(t), Schema: newSchema(t)}
	var engines []*queue.Engine
	for range 2 {
		e, err := queue.New(queue.Config{PollEvery: 5 * time.Millisecond}, open(t, c).Queue())
		if err != nil {
			t.Fatal(err)
		}
		engines = append(engines, e)
	}
	fifo := queue.DefaultSettings()
	fifo.FIFO = true
	for name, s := range map[string]queue.Settings{"jobs": queue.DefaultSettings(), "jobs.fifo": fifo} {
		if _, err := engines[0].CreateQueue(t.Context(), name, s, nil); err != nil {
			t.Fatal(err)
		}
	}
	var senders, consumers sync.WaitGroup
	for g := range groups { // each group has a sender that changes the engine
		senders.Go(func() {
			for i := range each {
				body := fmt.Sprint(g, "/", i)
				in := queue.SendInput{Body: []byte(body + " of the shared queue"), Group: fmt.Sprint("g", g)}
				if _, err := engines[i%2].Send(t.Context(), "jobs", in); err != nil {
					t.Error(err)
				}
				in.Dedup = body
				if _, err := engines[i%2].Send(t.Context(), "jobs.fifo", in); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var mu sync.Mutex // guards seen and next
	seen, next := map[string]int{}, map[string]int{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range 8 {
		name := []string{"jobs", "jobs.fifo"}[i/2%2]
		consumers.Go(func() {
			consume(ctx, t, engines[i%2], name, func(m queue.Message) {
				mu.Lock()
				defer mu.Unlock()
				seen[name+string(m.Body)]++
				if name == "jobs.fifo" {
					if want := fmt.Sprint(m.Group[1:], "/", next[m.Group], " of the shared queue"); string(m.Body) != want {
						t.Errorf("received %s, want %s", m.Body, want)
					}
					next[m.Group]++
				}
				if len(seen) == 2*groups*each {
					cancel()
				}
			})
		})
	}
	senders.Wait()
	consumers.Wait()
	if len(seen) != 2*groups*each {
		t.Errorf("%d of %d messages arrived", len(seen), 2*groups*each)
	}
	for body, n := range seen {
		if n != 1 {
			t.Errorf("%s was delivered %d times within its lease", body, n)
		}
	}
	sound(t, c.Schema)
}

func consume(ctx context.Context, t *testing.T, e *queue.Engine, name string, each func(queue.Message)) {
	for ctx.Err() == nil {
		messages, err := e.Receive(ctx, name, queue.ReceiveInput{Max: 4, Wait: new(time.Second)})
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			return
		}
		var receipts []queue.Receipt
		for _, m := range messages {
			each(m)
			receipts = append(receipts, m.Receipt)
		}
		if len(receipts) == 0 {
			continue
		}
		results, err := e.DeleteBatch(context.WithoutCancel(ctx), name, receipts)
		if err := errors.Join(append(results, err)...); err != nil {
			t.Error(err)
		}
	}
}

// Whatever goes on at the same time, nobody sees an error that is not about
// what was asked for: no deadlock, no serialization failure, nothing broken.
func TestQueueHunt(t *testing.T) {
	t.Parallel()
	c := postgres.Config{URL: with(t, server(t), "pool_max_conns", "6"), Schema: newSchema(t)}
	stores := []queue.Store{open(t, c).Queue(), open(t, c).Queue()}
	h := hunt{T: t, names: []string{"a", "b", "f.fifo", "g.fifo"}, ids: map[string]int64{}}
	for _, name := range append(h.names, "dead", "dead.fifo") {
		q := queue.Queue{Name: name, Settings: queue.DefaultSettings()}
		q.Settings.FIFO = strings.HasSuffix(name, ".fifo")
		if name == "b" {
			q.Settings.DeadLetter = queue.DeadLetter{Queue: "dead", MaxReceives: 2}
		}
		made, err := stores[0].CreateQueue(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		h.ids[name] = made.ID
	}
	began := time.Now()
	var wg sync.WaitGroup
	for w := range 12 {
		wg.Go(func() {
			for time.Since(began) < 5*time.Second && !t.Failed() {
				h.act(stores[w%2])
			}
		})
	}
	wg.Wait()
	sound(t, c.Schema)
}

type hunt struct {
	*testing.T
	names []string
	ids   map[string]int64

	mu   sync.Mutex // guards held and n
	held []held
	n    int
}

type held struct {
	name    string
	receipt queue.Receipt
}

func (h *hunt) policy(name string) queue.Policy {
	p := queue.Policy{FIFO: strings.HasSuffix(name, ".fifo"), DeadLetter: queue.ImplicitName(name), Implicit: true, KeepExpired: rand.N(2) == 0}
	if name == "b" {
		p.DeadLetter, p.Implicit, p.MaxReceives = "dead", false, 2
	}
	return p
}

func (h *hunt) ok(doing string, err error) {
	if err != nil && queue.CodeOf(err) == "" {
		h.Errorf("%s: %v", doing, err)
	}
}

// act does one thing at random.
func (h *hunt) act(s queue.Store) {
	name := h.names[rand.N(len(h.names))]
	id, p, ctx := h.ids[name], h.policy(name), context.Background()
	switch n := rand.N(100); {
	case n < 30:
		_, err := s.Send(ctx, id, h.entries(p.FIFO))
		h.ok("send", err)
	case n < 60:
		claimed, err := s.Receive(ctx, id, queue.Claim{
			Policy: p, Max: 1 + rand.N(10), Visibility: rand.N(100 * time.Millisecond), Retention: time.Hour, Worker: "w",
		})
		h.ok("receive", err)
		h.mu.Lock()
		for _, m := range claimed.Messages {
			h.held = append(h.held, held{name, m.Receipt})
		}
		h.mu.Unlock()
	case n < 75:
		_, err := s.Delete(ctx, id, p.FIFO, h.take(name, rand.N(8)))
		h.ok("delete", err)
	case n < 88:
		h.release(s, name, p)
	case n < 90:
		h.ok("vanish", s.Vanish(ctx, id, h.take(name, 3), 3))
	case n < 93:
		_, err := s.Sweep(ctx, 20)
		h.ok("sweep", err)
	case n < 95:
		_, err := s.Expire(ctx, id, p, rand.N(3*time.Second), 20)
		h.ok("expire", err)
	case n < 96:
		_, err := s.Clean(ctx, 50)
		h.ok("clean", err)
	case n < 98:
		h.move(s)
	case n < 99:
		if rand.N(4) == 0 {
			h.ok("purge", s.Purge(ctx, id))
		}
		h.ok("change a case", s.ChangeCase(ctx, id, bezoar.Fingerprint{byte(rand.N(4))}, func(*poison.Case, int64) *poison.Case { return nil }))
	default:
		_, err := s.Groups(ctx, queue.Selection{}, 10)
		h.ok("groups", err)
		_, err = s.Counts(ctx, id)
		h.ok("counts", err)
	}
}

func (h *hunt) entries(fifo bool) []queue.Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	entries := make([]queue.Entry, 1+rand.N(5))
	for i := range entries {
		h.n++
		e := &entries[i]
		e.ID, e.Body, e.Group = fmt.Sprint("id-", h.n), []byte("body"), fmt.Sprint("g", rand.N(3))
		if rand.N(2) == 0 {
			e.Payload = bezoar.Fingerprint{byte(1 + rand.N(3))}
		}
		if e.FIFO = fifo; fifo {
			e.Dedup = fmt.Sprint(h.n - rand.N(5))
			e.DedupKey = e.Dedup
		} else {
			e.Priority = rand.N(3)
		}
	}
	return entries
}

// take picks receipts of a queue, in no order and some not for the last time.
func (h *hunt) take(name string, n int) (taken []queue.Receipt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rand.Shuffle(len(h.held), func(i, j int) { h.held[i], h.held[j] = h.held[j], h.held[i] })
	h.held = slices.DeleteFunc(h.held, func(one held) bool {
		if one.name != name || len(taken) == n {
			return false
		}
		taken = append(taken, one.receipt)
		return rand.N(4) > 0
	})
	return taken
}

func (h *hunt) release(s queue.Store, name string, p queue.Policy) {
	classes := []bezoar.Class{bezoar.Crash, bezoar.Bug, bezoar.Transient, bezoar.Timeout}
	var changes []queue.Change
	for _, r := range h.take(name, rand.N(6)) {
		c := queue.Change{Receipt: r, For: rand.N(50 * time.Millisecond)}
		if rand.N(2) == 0 {
			c.Release, c.Dead = true, rand.N(3) == 0
			c.Outcome = &queue.Outcome{Class: classes[rand.N(len(classes))], Failure: "f"}
		}
		changes = append(changes, c)
	}
	_, err := s.Change(context.Background(), h.ids[name], p, changes)
	h.ok("change", err)
}

func (h *hunt) move(s queue.Store) {
	ctx := context.Background()
	kinds := []queue.MoveKind{queue.MoveSQS, queue.MoveRedrive, queue.MoveDiscard, queue.MoveRestore}
	sources := []string{"dead", "a-dlq", "f-dlq.fifo", "g-dlq.fifo"}
	task := queue.MoveTask{ID: fmt.Sprint("task-", rand.Uint64()), Kind: kinds[rand.N(len(kinds))], Source: sources[rand.N(len(sources))], Rate: 500, HaltAbove: 1}
	if task.Kind == queue.MoveRestore {
		task.Source = queue.TrashQueue
	}
	_, err := s.StartMove(ctx, task)
	h.ok("start a move", err)
	live, err := s.Moves(ctx, queue.MoveQuery{Live: true})
	h.ok("list moves", err)
	for _, t := range live {
		_, err := s.StepMove(ctx, t.ID, 50)
		h.ok("step a move", err)
	}
}
