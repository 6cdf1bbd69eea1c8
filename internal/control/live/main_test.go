package live_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is one node and what became of it.
type rig struct {
	t     *testing.T
	live  *live.Live
	store *flaky

	mu      sync.Mutex // guards all below
	applied []string   // "7: text [override ids]"
	events  []live.Event
	refuse  map[string]error // texts that Apply fails on
	inside  int
	news    chan struct{}
	stop    func()
}

// flaky is a store that can be cut off, as seen by one node.
type flaky struct {
	live.Store
	mu    sync.Mutex // guards down and hang
	down  bool
	hang  bool
	asked int // how often for the revision
}

var errDown = errors.New("the store is down")

func (f *flaky) Revision(ctx context.Context) (int64, error) {
	f.mu.Lock()
	f.asked++
	down, hang := f.down, f.hang
	f.mu.Unlock()
	if hang {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	if down {
		return 0, errDown
	}
	return f.Store.Revision(ctx)
}

func (f *flaky) PutNode(ctx context.Context, n live.Node, ttl time.Duration) error {
	f.mu.Lock()
	down := f.down || f.hang
	f.mu.Unlock()
	if down {
		return errDown
	}
	return f.Store.PutNode(ctx, n, ttl)
}

func (f *flaky) cut(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

func newStore(t *testing.T) live.Store {
	t.Helper()
	db, err := memory.Open(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return db.Live()
}

// check refuses what does not look like settings.
func check(text []byte) error {
	for i, line := range strings.Split(string(text), "\n") {
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "---") && !strings.Contains(line, ":") {
			return fmt.Errorf("line %d: no colon", i+1)
		}
	}
	return nil
}

// node makes a node that does not run yet.
func node(t *testing.T, s live.Store, c live.Config) *rig {
	t.Helper()
	r := &rig{t: t, store: &flaky{Store: s}, news: make(chan struct{}, 1), refuse: map[string]error{}}
	if c.Node == "" {
		c.Node = "n1"
	}
	c.Store, c.Apply, c.Observe = r.store, r.apply, r.observe
	if c.Check == nil {
		c.Check = check
	}
	l, err := live.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r.live = l
	return r
}

// start runs it until the test is over, or stop.
func (r *rig) start() *rig {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.live.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run = %v", err)
		}
	})
	r.t.Cleanup(r.stop)
	return r
}

func (r *rig) apply(ctx context.Context, v live.Version, overrides []live.Override) error {
	r.mu.Lock()
	if r.inside++; r.inside > 1 {
		r.t.Error("Apply is called twice at a time")
	}
	err := r.refuse[string(v.Text)]
	r.mu.Unlock()
	select {
	case <-time.After(time.Millisecond): // gives others a chance to come in between
	case <-ctx.Done():
		err = ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inside--
	if err != nil {
		return err
	}
	if live.Sum(v.Text) != v.Sum {
		r.t.Errorf("version %d arrives with %q, which is not of its sum", v.Number, v.Text)
	}
	var ids []string
	for _, o := range overrides {
		ids = append(ids, o.ID)
	}
	r.applied = append(r.applied, fmt.Sprintf("%d: %s %v", v.Number, strings.TrimSpace(string(v.Text)), ids))
	r.wake()
	return nil
}

func (r *rig) observe(e live.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	r.wake()
}

func (r *rig) wake() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

func (r *rig) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.applied) == 0 {
		return ""
	}
	return r.applied[len(r.applied)-1]
}

func (r *rig) calls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.applied)
}

func (r *rig) fail(text string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse[text] = err
}

func (r *rig) saw(kind string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.events, func(e live.Event) bool { return e.Kind == kind })
}

// forget drops what was seen, to wait for it anew.
func (r *rig) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = nil
}

// until waits for news until ok.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	overdue := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond) // for what makes no news
	defer tick.Stop()
	for !ok() {
		select {
		case <-r.news:
		case <-tick.C:
		case <-overdue:
			r.t.Fatalf("not within a minute: %s; applied: %q; status: %+v", what, r.applied, r.live.Status())
		}
	}
}

// runs waits until that is what was applied last.
func (r *rig) runs(want string) {
	r.t.Helper()
	var number int64
	if _, err := fmt.Sscanf(want, "%d:", &number); err != nil {
		r.t.Fatal(err)
	}
	r.until("runs "+want, func() bool { return r.last() == want && r.live.Status().Running.Number == number })
}

func (r *rig) hears(kind string) {
	r.t.Helper()
	r.until("hears "+kind, func() bool { return r.saw(kind) })
}

func (r *rig) put(text string) live.Version {
	r.t.Helper()
	v, err := r.live.Put(r.t.Context(), []byte(text), "ann", "")
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

// diff is what changed from one version to another.
func (r *rig) diff(from, to int64) string {
	r.t.Helper()
	read := func(number int64) []byte {
		v, err := r.live.Version(r.t.Context(), number)
		if err != nil {
			r.t.Fatal(err)
		}
		return v.Text
	}
	return live.DiffText(fmt.Sprintf("version %d", from), read(from), fmt.Sprintf("version %d", to), read(to))
}
