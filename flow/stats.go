package flow

import (
	"slices"
	"sync"
	"time"
)

// keepDurations is how many successful runs of one task are remembered.
const keepDurations = 256

// durations holds the latest successful attempts of one task.
type durations struct {
	last   []time.Duration
	next   int
	sorted []time.Duration // nil: not computed
}

func (d *durations) add(t time.Duration) {
	d.sorted = nil
	if len(d.last) < keepDurations {
		d.last = append(d.last, t)
		return
	}
	d.last[d.next] = t
	d.next = (d.next + 1) % keepDurations
}

// percentile returns the percentile by the nearest rank.
func (d *durations) percentile(p int) time.Duration {
	if d == nil || len(d.last) == 0 {
		return 0
	}
	if d.sorted == nil {
		d.sorted = slices.Sorted(slices.Values(d.last))
	}
	return d.sorted[(len(d.sorted)*p+99)/100-1]
}

// stats remembers how long tasks take. It is safe for concurrent use.
type stats struct {
	mu    sync.Mutex                       // guards known
	known map[string]map[string]*durations // by flow and task
}

func newStats() *stats { return &stats{known: map[string]map[string]*durations{}} }

func (s *stats) add(flow, task string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tasks := s.known[flow]
	if tasks == nil {
		tasks = map[string]*durations{}
		s.known[flow] = tasks
	}
	if tasks[task] == nil {
		tasks[task] = &durations{}
	}
	tasks[task].add(d)
}

func (s *stats) knows(flow string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[flow] != nil
}

// of returns p95 and p99 of a task, and the number of runs that they come from.
func (s *stats) of(flow, task string) (p95, p99 time.Duration, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.known[flow][task]
	if d == nil {
		return 0, 0, 0
	}
	return d.percentile(95), d.percentile(99), len(d.last)
}

// follows returns for each task, by its index in the definition, the p95 of the longest path of tasks that need it, without
// the task itself.
func (s *stats) follows(d *Definition, needs [][]int) []time.Duration {
	rest := make([]time.Duration, len(d.Tasks))
	for _, i := range slices.Backward(inOrder(needs)) {
		p95, _, _ := s.of(d.Name, d.Tasks[i].Name)
		for _, need := range needs[i] {
			rest[need] = max(rest[need], p95+rest[i])
		}
	}
	return rest
}

// inOrder sorts tasks so that each comes after its needs.
func inOrder(needs [][]int) []int {
	kids, open := make([][]int, len(needs)), make([]int, len(needs))
	out := make([]int, 0, len(needs))
	for i, all := range needs {
		open[i] = len(all)
		for _, need := range all {
			kids[need] = append(kids[need], i)
		}
		if len(all) == 0 {
			out = append(out, i)
		}
	}
	for at := 0; at < len(out); at++ {
		for _, kid := range kids[out[at]] {
			if open[kid]--; open[kid] == 0 {
				out = append(out, kid)
			}
		}
	}
	return out
}
