package live_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/live"
)

// Whatever several nodes do, cut off or not: when the store answers all of them
// again, they run the same within a poll, and nothing invalid ever ran.
func TestNodesConverge(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { converge(t, rand.New(rand.NewPCG(seed, 7))) })
		})
	}
}

func converge(t *testing.T, random *rand.Rand) {
	s := newStore(t)
	var nodes []*rig
	for i := range 3 {
		nodes = append(nodes, node(t, s, live.Config{Node: fmt.Sprint("n", i), SlowPoll: time.Second}).start())
	}
	nodes[0].put("n: 0")
	var ids []string
	for step := range 60 {
		n := nodes[random.IntN(len(nodes))]
		act(t, n, random, step, &ids)
		pass(time.Duration(random.IntN(300)) * time.Millisecond)
	}
	for _, n := range nodes {
		n.store.cut(false)
		n.mu.Lock()
		clear(n.refuse)
		n.mu.Unlock()
	}
	pass(time.Second + soon) // what could not be applied is tried again
	newest, err := s.Version(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	overrides, _, err := s.Overrides(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{}
	for _, o := range overrides {
		want = append(want, o.ID)
	}
	for _, n := range nodes {
		n.wantLast(fmt.Sprintf("%d: %s %v", newest.Number, newest.Text, want))
		if status := n.live.Status(); status.Error != "" || status.Running.Number != newest.Number || status.Store.Error != "" {
			t.Errorf("%s says %+v", status.Node, status)
		}
	}
}

// act does one thing on one node; what it cannot do because of a cut is fine.
func act(t *testing.T, n *rig, random *rand.Rand, step int, ids *[]string) {
	text := fmt.Sprint("n: ", step)
	switch random.IntN(9) {
	case 0:
		n.store.cut(true)
	case 1, 2:
		n.store.cut(false)
	case 3:
		n.fail(text, errors.New("not here, not now"))
		fallthrough
	case 4:
		_, err := n.live.Put(t.Context(), []byte(text), "ann", "")
		var failed *live.ApplyError
		if err != nil && !errors.Is(err, errDown) && !errors.As(err, &failed) {
			t.Errorf("Put = %v", err)
		}
	case 5:
		var invalid *live.InvalidError
		if _, err := n.live.Put(t.Context(), []byte("broken"), "ann", ""); !errors.As(err, &invalid) {
			t.Errorf("Put of what is invalid = %v", err)
		}
	case 6:
		o, err := n.live.Override(t.Context(), live.Override{
			Caller: fmt.Sprint(random.IntN(4)), What: live.Rate, Factor: 0.5, By: "ann",
			Until: time.Now().Add(time.Duration(1+random.IntN(20)) * time.Second),
		})
		if err != nil {
			t.Errorf("Override = %v", err)
		}
		*ids = append(*ids, o.ID)
	case 7:
		if len(*ids) > 0 {
			id := (*ids)[random.IntN(len(*ids))]
			if err := n.live.Lift(t.Context(), id); err != nil && !errors.Is(err, live.ErrNotFound) {
				t.Errorf("Lift = %v", err)
			}
		}
	case 8:
		number := int64(1 + random.IntN(step+1))
		_, err := n.live.Rollback(t.Context(), number, "ann")
		var failed *live.ApplyError
		if err != nil && !errors.Is(err, errDown) && !errors.Is(err, live.ErrNotFound) && !errors.As(err, &failed) {
			t.Errorf("Rollback = %v", err)
		}
	}
}
