package memory

import "container/heap"

// schedule is a heap of messages by time, then by sequence number.
type schedule struct {
	when  func(*message) int64
	place func(*message) *int
	all   []*message
}

var _ heap.Interface = (*schedule)(nil)

// absent is the index of a message that is not in a schedule.
const absent = -1

func (s *schedule) Len() int { return len(s.all) }
func (s *schedule) Less(i, j int) bool {
	a, b := s.all[i], s.all[j]
	if s.when(a) != s.when(b) {
		return s.when(a) < s.when(b)
	}
	return a.seq < b.seq
}

func (s *schedule) Swap(i, j int) {
	s.all[i], s.all[j] = s.all[j], s.all[i]
	*s.place(s.all[i]), *s.place(s.all[j]) = i, j
}

func (s *schedule) Push(m any) {
	*s.place(m.(*message)) = len(s.all)
	s.all = append(s.all, m.(*message))
}

func (s *schedule) Pop() any {
	last := s.all[len(s.all)-1]
	s.all[len(s.all)-1] = nil
	s.all = s.all[:len(s.all)-1]
	*s.place(last) = absent
	return last
}

// put adds a message, or moves it to its new time.
func (s *schedule) put(m *message) {
	if at := *s.place(m); at != absent {
		heap.Fix(s, at)
		return
	}
	heap.Push(s, m)
}

func (s *schedule) remove(m *message) {
	if at := *s.place(m); at != absent {
		heap.Remove(s, at)
	}
}

// first returns the earliest message, or nil.
func (s *schedule) first() *message {
	if len(s.all) == 0 {
		return nil
	}
	return s.all[0]
}
