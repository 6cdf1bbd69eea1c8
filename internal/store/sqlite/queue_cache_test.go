package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// remembered is a cache in a form that can be compared.
type remembered struct {
	Cases            []caseKey
	Known            map[int64]int
	Flying, Vanished map[payloadKey][]int64
	Parked           map[payloadKey]int
	Waiting          map[int64]int
}

func (m *cache) show() remembered {
	out := remembered{nil, m.known, map[payloadKey][]int64{}, map[payloadKey][]int64{}, m.parked, m.waiting}
	for key := range m.cases {
		out.Cases = append(out.Cases, key)
	}
	slices.SortFunc(out.Cases, func(a, b caseKey) int { return slices.Compare(a.payload[:], b.payload[:]) })
	for from, to := range map[*flights]map[payloadKey][]int64{&m.flying: out.Flying, &m.vanished: out.Vanished} {
		for key := range from.one {
			to[key] = slices.Sorted(slices.Values(from.of(key)))
		}
	}
	return out
}

// Whatever is written and whatever of it fails: what the writer holds in memory
// is what it would read.
func TestCacheIsExact(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		t.Run(fmt.Sprint("fifo=", fifo), func(t *testing.T) {
			pace.Alone(t)
			g := newCacheGame(t, fifo)
			for i := range 400 {
				g.move(i)
				fresh := &queueStore{db: g.db, cache: newCache()}
				if err := fresh.load(t.Context()); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(fresh.cache.show(), g.s.cache.show(), cmp.AllowUnexported(caseKey{}, payloadKey{})); diff != "" {
					t.Fatalf("after move %d (- file, + cache):\n%s", i, diff)
				}
				if len(g.s.cache.log) > 0 || len(g.s.cache.sizes) > 0 {
					t.Fatalf("after move %d the transaction has left %v, %v", i, g.s.cache.log, g.s.cache.sizes)
				}
				if i%40 == 0 {
					g.counted()
				}
			}
		})
	}
}

type cacheGame struct {
	*testing.T
	db       *DB
	s        *queueStore
	q        queue.Queue
	p        queue.Policy
	r        *rand.Rand
	received []queue.Message
}

func newCacheGame(t *testing.T, fifo bool) *cacheGame {
	g := &cacheGame{T: t, db: openTest(t), r: rand.New(rand.NewPCG(1, 2))}
	g.s = g.db.queue
	settings := queue.DefaultSettings()
	settings.FIFO = fifo
	var err error
	if g.q, err = g.s.CreateQueue(t.Context(), queue.Queue{Name: "jobs", Settings: settings}); err != nil {
		t.Fatal(err)
	}
	g.p = queue.Policy{FIFO: fifo, DeadLetter: "jobs-dlq", Implicit: true, Poison: settings.Quarantine.Poison()}
	return g
}

var errSpoiled = errors.New("spoiled")

// move writes something, and half of the time spoils the transaction.
func (g *cacheGame) move(i int) {
	spoil := g.r.IntN(2) == 0
	var got []queue.Message
	err := g.s.write(g.Context(), "play", func(t *queueTx) error {
		var err error
		got, err = g.act(t, i)
		if spoil && err == nil {
			err = errSpoiled
		}
		return err
	})
	if err != nil && !errors.Is(err, errSpoiled) {
		g.Fatal(err)
	}
	if err == nil {
		g.received = append(g.received, got...)
	}
}

func (g *cacheGame) act(t *queueTx, i int) (got []queue.Message, err error) {
	d, err := t.open(g.q.ID)
	if err != nil {
		return nil, err
	}
	p := bezoar.Fingerprint{byte(1 + g.r.IntN(3))}
	switch n := g.r.IntN(20); {
	case n < 5:
		last, err := t.number("message", 1)
		if err != nil {
			return nil, err
		}
		e := queue.Entry{SendInput: queue.SendInput{Body: []byte("x"), Group: fmt.Sprint("g", g.r.IntN(3))}, ID: fmt.Sprint("m", i), FIFO: g.p.FIFO, Payload: p}
		_, err = t.send(d, last, e, nil, nil)
		return nil, err
	case n < 11:
		c, err := t.receive(d.ID, queue.Claim{Policy: g.p, Max: 3, Visibility: time.Duration(g.r.IntN(3)) * time.Millisecond, Retention: time.Hour})
		return c.Messages, err
	case n == 11:
		return nil, t.keepCase(d.ID, p, nil)
	case n == 12:
		return nil, t.keepCase(d.ID, p, &poison.Case{Touched: t.now, Proven: g.r.IntN(2) == 0})
	case len(g.received) == 0:
		return nil, nil
	}
	r := g.received[g.r.IntN(len(g.received))].Receipt
	switch g.r.IntN(5) {
	case 0:
		_, err = t.finish(d, g.p, r, g.p.FIFO)
	case 1:
		m, found, err := t.state(r)
		if err != nil || !found || !m.Vanish(r, 1, m.Visible-1) {
			return nil, err
		}
		return nil, t.update(&m)
	case 2:
		_, err = t.change(d, queue.Change{Receipt: r, For: time.Duration(g.r.IntN(2)) * time.Millisecond}, g.p)
	case 3:
		_, err = t.change(d, queue.Change{Receipt: r, Release: true, Outcome: &queue.Outcome{Class: bezoar.Crash}}, g.p)
	case 4:
		_, err = t.change(d, queue.Change{Receipt: r, Release: true, Dead: true}, g.p)
	}
	return nil, err
}

// counted holds the kept counts to the messages that there are.
func (g *cacheGame) counted() {
	var wrong int
	err := g.db.reader.QueryRowContext(g.Context(), `SELECT
		(SELECT count(*) FROM queues q WHERE coalesce((SELECT n FROM queue_sizes s WHERE s.bucket = q.bucket), 0)
			<> (SELECT count(*) FROM queue_messages m WHERE m.bucket = q.bucket)) +
		(SELECT count(*) FROM queue_letter_groups g WHERE n <> (SELECT count(*) FROM queue_deaths d WHERE d.gid = g.id)) +
		(SELECT count(*) FROM queue_deaths d WHERE NOT EXISTS (SELECT 1 FROM queue_letters l WHERE l.bucket = d.bucket AND l.seq = d.seq)) +
		(SELECT count(*) FROM queue_payloads p WHERE NOT EXISTS (SELECT 1 FROM queue_messages m WHERE m.payload = p.id))`).Scan(&wrong)
	if err != nil || wrong > 0 {
		g.Errorf("%d counts are wrong, or rows left over: %v", wrong, err)
	}
}
