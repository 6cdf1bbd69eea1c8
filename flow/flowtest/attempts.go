package flowtest

import (
	"fmt"

	"github.com/bezoar-dev/bezoar/flow"
)

func attemptTests() map[string]func(*rig) {
	return map[string]func(*rig){"ListAttempts": testListAttempts}
}

func testListAttempts(r *rig) {
	run, other := r.run(2, nil), r.run(1, nil)
	n1 := r.node("n1")
	r.node("n2")
	h := r.take(n1)
	var tokens []int64
	for i, a := range []flow.Attempt{
		attempt(run.ID, "a", "n1"), attempt(run.ID, "a", "n2"), attempt(run.ID, "b", "n1"), attempt(other.ID, "a", ""), attempt(run.ID, "a", "n1"),
	} {
		a.N = i + 1
		if i == 4 {
			a.Index = 1
		}
		tokens = append(tokens, r.apply(h, flow.Batch{Begin: []flow.Attempt{a}}).Begun[0].Token)
	}
	r.apply(h, flow.Batch{End: []flow.Attempt{ended(flow.Attempt{Token: tokens[2], Run: run.ID}, flow.Ending{})}})
	for i, tc := range []struct {
		q    flow.AttemptQuery
		want []int // from 0
	}{
		{flow.AttemptQuery{}, []int{0, 1, 2, 3, 4}},
		{flow.AttemptQuery{Limit: 2}, []int{0, 1}},
		{flow.AttemptQuery{After: tokens[1], Limit: 2}, []int{2, 3}},
		{flow.AttemptQuery{Run: run.ID}, []int{0, 1, 2, 4}},
		{flow.AttemptQuery{Run: run.ID, Task: "a", Index: -1}, []int{0, 1, 4}},
		{flow.AttemptQuery{Run: run.ID, Task: "a"}, []int{0, 1}},
		{flow.AttemptQuery{Run: run.ID, Task: "a", Index: 1}, []int{4}},
		{flow.AttemptQuery{Node: "n1"}, []int{0, 4}},
		{flow.AttemptQuery{Open: true}, []int{0, 1, 3, 4}},
		{flow.AttemptQuery{Open: true, Run: run.ID, After: tokens[0]}, []int{1, 4}},
		{flow.AttemptQuery{After: tokens[4]}, nil},
	} {
		var want, got []int64
		for _, k := range tc.want {
			want = append(want, tokens[k])
		}
		for _, a := range r.attempts(tc.q) {
			got = append(got, a.Token)
		}
		same(r, fmt.Sprintf("query %d: %+v", i, tc.q), got, want)
	}
}
