package pool_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/child"
)

// Everything that can go wrong, at once and in any order: each message gets an
// ending that is its own, and nothing is left of any.
func TestStorm(t *testing.T) {
	cfg := config(t, "normal")
	cfg.Size, cfg.Recycle, cfg.Child.Grace = 4, 25, 30*time.Millisecond
	p := start(t, cfg)
	escapee := fmt.Sprintf("986%d", time.Now().UnixNano()%1e9)
	raw := func(s string) string { return "raw " + base64.StdEncoding.EncodeToString([]byte(s)) }
	kinds := []struct {
		body  string
		class bezoar.Class
		often int
	}{
		{"noise 2", bezoar.Bug, 50},
		{"echo " + strings.Repeat("\x01", 200_000), bezoar.Done, 10},
		{"echo " + strings.Repeat("\xff", 200_000), bezoar.Done, 10},
		{"exit 3", bezoar.Bug, 5},
		{"exit 65", bezoar.Invalid, 5},
		{"exit 75", bezoar.Transient, 5},
		{"die 9", bezoar.Crash, 5},
		{"hang", bezoar.Timeout, 2},
		{"deaf", bezoar.Timeout, 2},
		{"escape-die " + escapee, bezoar.Crash, 5},
		{raw("\x00\xff half a line"), bezoar.Timeout, 1},
		{raw(`{"bezoar":`), bezoar.Timeout, 1},
		{raw("{\"bezoar\":}\n"), bezoar.Bug, 5},
		{raw("{\"bezoar\":1,\"id\":\"other\"}\n"), bezoar.Transient, 5},
		{raw(strings.Repeat("x", 200_000) + "\n{\"bezoar\":1,\"id\":\"ID\"}\n{\"bezoar\":1,\"id\":\"ID\"}\n"), bezoar.Done, 5},
	}
	var order []int
	for i, k := range kinds {
		order = append(order, slices.Repeat([]int{i}, k.often)...)
	}
	rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })

	var mu sync.Mutex // guards pids: of the children that have a message
	pids := map[string]int{}
	killed := map[int]bool{} // by pid: who has it next may be hit as well
	stop := make(chan struct{})
	var killer, workers sync.WaitGroup
	killer.Go(func() { // somebody else kills children now and then
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			mu.Lock()
			for _, pid := range pids {
				killed[pid] = true
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
			mu.Unlock()
		}
	})
	next := make(chan int)
	for range 4 {
		workers.Go(func() {
			for n := range next {
				k, id := kinds[order[n]], fmt.Sprintf("m%d", n)
				j := child.Job{Stdin: []byte(k.body), Message: child.Message{ID: id}, Timeout: time.Minute}
				if k.class == bezoar.Timeout {
					j.Timeout = 30 * time.Millisecond
				}
				j.Started = func(pid int) {
					mu.Lock()
					defer mu.Unlock()
					pids[id] = pid
				}
				res := p.Do(t.Context(), j)
				mu.Lock()
				bystander := killed[pids[id]]
				delete(pids, id)
				mu.Unlock()
				if res.Class != k.class && !(bystander && res.Class == bezoar.Crash) {
					t.Errorf("%s, %.40q: %v, %q, want %v", id, k.body, res.Class, res.Detail, k.class)
				}
				if k.body == "noise 2" && res.Class == bezoar.Bug && string(res.Stderr) != strings.Repeat("noise for "+id+"\n", 2) {
					t.Errorf("%s: stderr is %q", id, res.Stderr)
				}
			}
		})
	}
	for n := range order {
		next <- n
	}
	close(next)
	workers.Wait()
	close(stop)
	killer.Wait()
	if left := processes(t, escapee); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
