package hints

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
)

const answered = `{"took":37,"timed_out":false,"_shards":{"total":5,"successful":4,"skipped":0,"failed":1},"hits":{"total":{"value":10000,"relation":"gte"},"max_score":null,"hits":[]},
"aggregations":{"users":{"doc_count_error_upper_bound":0,"sum_other_doc_count":999000,"buckets":[
{"key":"a","doc_count":6,"c":{"value":3}},{"key":"b","doc_count":2,"c":{"value":250000}}]}}}`

func TestReadAnswer(t *testing.T) {
	for _, c := range []struct {
		name, head string
		want       Answer
	}{
		{"whole", answered, Answer{Timed: true, Took: 37 * time.Millisecond, Hits: 10_000, Shards: 5, FailedShards: 1, Buckets: 2}},
		{"cut in a bucket", answered[:strings.Index(answered, `"b"`)], Answer{Timed: true, Took: 37 * time.Millisecond, Hits: 10_000, Shards: 5, FailedShards: 1, Buckets: 2, Cut: true}},
		{"cut early", answered[:30], Answer{Timed: true, Took: 37 * time.Millisecond, Cut: true}},
		{"cut in a number", `{"took":3`, Answer{Cut: true}},
		{"version 6", `{"took": 5, "timed_out": true, "hits": {"total": 1.5e3, "hits": [{"_source": {"took": 9, "total": {"value": 1}, "aggregations": {"x": {"buckets": [{}]}}}}]}}`, Answer{Timed: true, Took: 5 * time.Millisecond, TimedOut: true, Hits: 1500}},
		{"several", `{"took":8,"responses":[{"took":3,"hits":{"total":{"value":5}}}]}`, Answer{Timed: true, Took: 8 * time.Millisecond}},
		{"of an asynchronous search", `{"id":"x","is_running":false,"response":{"took":12,"timed_out":false,"_shards":{"total":3,"failed":1},"hits":{"total":{"value":7}},"aggregations":{"a":{"buckets":[{"doc_count":1}]}}}}`, Answer{Timed: true, Took: 12 * time.Millisecond, Hits: 7, Shards: 3, FailedShards: 1, Buckets: 1}},
		{"of a count", `{"count":5,"_shards":{"total":3,"failed":0}}`, Answer{Shards: 3}},
		{"an error", `{"error":{"type":"x"},"status":400}`, Answer{}},
		{"no object", `"took"`, Answer{Cut: true}},
		{"nothing", "", Answer{Cut: true}},
		{"huge numbers", `{"took":1e999,"hits":{"total":-7}}`, Answer{Timed: true, Took: 1e9 * time.Millisecond}},
		{"deep", strings.Repeat(`{"a":`, 1000), Answer{Cut: true}},
		{"long", `{"a":"` + strings.Repeat("x", 2*MaxHead) + `","took":3}`, Answer{Cut: true}},
		{"brackets that cross", `{"hits":{"total":4]`, Answer{Hits: 4, Cut: true}},
	} {
		if got := ReadAnswer([]byte(c.head)); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	head := []byte(answered)
	if n := testing.AllocsPerRun(100, func() { ReadAnswer(head) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestLearnsLowerBounds(t *testing.T) {
	const users = `{"size":0,"aggs":{"users":{"terms":{"field":"user.id","size":2},"aggs":{"c":{"cardinality":{"field":"ip"}}}}}}`
	for _, c := range []struct {
		name, index, request, answer string
		want                         string // field and value, of all that was learned
	}{
		{"from what is not shown", "logs", users, answered, "ip 250000, user.id 499502"}, // 2 + 999000/2
		{"with typed keys", "logs", users, strings.NewReplacer(`"users"`, `"sterms#users"`, `"c"`, `"cardinality#c"`).Replace(answered), "ip 250000, user.id 499502"},
		{"with an error of counts", "logs", users, strings.Replace(answered, `bound":0`, `bound":2`, 1), "ip 250000, user.id 249752"},
		{"in another order", "logs", strings.Replace(users, `"size":2`, `"order":{"_key":"asc"}`, 1), answered, "ip 250000"},
		{"cut off", "logs", users, answered[:strings.Index(answered, `"b"`)], "user.id 166502"}, // 2 + 999000/6
		{"of small fields", "logs", users, strings.NewReplacer("999000", "90", "250000", "90000").Replace(answered), ""},
		{"of several indices", "logs-*", users, answered, ""},
		{"of all indices", "", users, answered, ""},
		{"with a script", "logs", strings.Replace(users, `"size":2`, `"script":"random()"`, 1), answered, ""},
		{"with a script that hides", "logs", strings.Replace(users, `"size":2`, `"scr\u0069pt":"random()"`, 1), answered, ""},
		{"with a script behind a comment", "logs", strings.Replace(users, `"size":2`, `/* " */ "script":"random()" /* " */`, 1), answered, ""},
		{"with fields of its own", "logs", strings.Replace(users, `"size":0`, `"runtime_mappings":{}`, 1), answered, ""},
		{"with a name twice, in two places", "logs", strings.Replace(users, `"aggs":{"users"`, `"aggs":{"c":{"terms":{"field":"other"}},"users"`, 1), answered, "ip 250000, user.id 499502"},
		{"in one bucket", "logs", `{"aggs":{"all":{"global":{},"aggs":{"c":{"cardinality":{"field":"ip"}}}}}}`, `{"aggregations":{"all":{"meta":{},"doc_count":9,"c":{"value":250000}}}}`, "ip 250000"},
		{"without the error of counts", "logs", users, strings.Replace(answered, `"doc_count_error_upper_bound":0,`, "", 1), "ip 250000"},
		{"with an error that nobody knows", "logs", users, strings.Replace(answered, `bound":0`, `bound":-1`, 1), "ip 250000"},
		{"cut off request", "logs", users[:len(users)-1], answered, ""},
		{"two requests", "logs", users + users, answered, ""},
		{"a query called terms", "logs", `{"query":{"terms":{"field":["users"]}}}`, answered, ""},
		{"aggregations of those names", "logs", `{"aggs":{"aggs":{"terms":{"field":"f"}}}}`, `{"aggregations":{"aggs":{"doc_count_error_upper_bound":0,"sum_other_doc_count":900000,"buckets":[{"doc_count":1}]}}}`, "f 900001"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept := &keeper{}
			l, err := NewLearner(LearnConfig{Store: kept})
			if err != nil {
				t.Fatal(err)
			}
			l.Observe(Seen{Index: c.index, Body: []byte(c.request), Answer: []byte(c.answer)})
			set, _ := l.turn(time.Now())
			var got []string
			for _, field := range []string{"ip", "other", "f", "user.id"} {
				if f, ok := set[c.index].Fields[field]; ok {
					got = append(got, fmt.Sprintf("%s %.0f", field, f.Cardinality))
				}
			}
			if s := strings.Join(got, ", "); s != c.want || len(set) > 1 {
				t.Errorf("%q, want %q", s, c.want)
			}
		})
	}
}

// Callers write requests, and so part of what is answered: names, meta, documents,
// values that scripts compute. None of that may pass for what is known of a field
// that others ask for.
func TestLearnsNothingThatCallersMakeUp(t *testing.T) {
	const status = `"a":{"cardinality":{"field":"status"}}`
	for name, c := range map[string]struct{ request, answer string }{
		"meta": {
			`{"aggs":{"a":{"cardinality":{"field":"status"},"meta":{"value":9e9,"a":{"value":9e9}}}}}`,
			`{"aggregations":{"a":{"meta":{"value":9e9,"a":{"value":9e9}},"value":5}}}`,
		},
		"meta of another": {
			`{"aggs":{` + status + `,"b":{"filter":{},"meta":{"a":{"value":9e9}},"aggs":{` + status + `}}}}`,
			`{"aggregations":{"a":{"value":5},"b":{"meta":{"a":{"value":9e9}},"doc_count":1,"a":{"value":5}}}}`,
		},
		"a script's value under a name that is elsewhere a field's": {
			`{"aggs":{"b":{"filter":{},"aggs":{` + status + `}},"a":{"scripted_metric":{"reduce_script":"return 9e9"}}}}`,
			`{"aggregations":{"b":{"doc_count":1,"a":{"value":5}},"a":{"value":9e9}}}`,
		},
		"a script's object": {
			`{"aggs":{"b":{"scripted_metric":{"reduce_script":"return m"},"aggs":{` + status + `}}}}`,
			`{"aggregations":{"b":{"value":{"a":{"value":9e9}},"a":{"value":9e9}}}}`,
		},
		"documents": {
			`{"aggs":{` + status + `,"t":{"top_hits":{},"aggs":{` + status + `}}}}`,
			`{"aggregations":{"a":{"value":5},"t":{"hits":{"hits":[{"_source":{"a":{"value":9e9},"aggregations":{"a":{"value":9e9}}}}]}}}}`,
		},
		"documents first": {
			`{"aggs":{` + status + `}}`,
			`{"hits":{"hits":[{"_source":{"aggregations":{"a":{"value":9e9}}}}]},"aggregations":{"a":{"value":5}}}`,
		},
		"names of buckets": {
			`{"aggs":{"f":{"filters":{"filters":{"a":{}}},"aggs":{` + status + `}}}}`,
			`{"aggregations":{"f":{"buckets":{"a":{"doc_count":1,"value":9e9,"a":{"value":5}}}}}}`,
		},
		"keys of a composite": {
			`{"aggs":{"c":{"composite":{"sources":[{"value":{"terms":{"field":"n"}}}]},"aggs":{"key":{"cardinality":{"field":"status"}}}}}}`,
			`{"aggregations":{"c":{"buckets":[{"key":{"value":9e9},"doc_count":1,"key":{"value":5}}]}}}`,
		},
		"a name with a kind in it": {
			`{"aggs":{` + status + `,"x#a":{"max":{"field":"n"}}}}`,
			`{"aggregations":{"a":{"value":5},"x#a":{"value":9e9}}}`,
		},
		"another kind": {
			`{"aggs":{"a":{"sum":{"field":"status"}},"b":{"terms":{"field":"status"}}}}`,
			`{"aggregations":{"a":{"value":9e9},"b":{"value":9e9,"buckets":[{"doc_count":1}]}}}`,
		},
		"two kinds": {
			`{"aggs":{"a":{"max":{"field":"status"},"cardinality":{"field":"status"}}}}`,
			`{"aggregations":{"a":{"value":9e9}}}`,
		},
		"two fields": {
			`{"aggs":{"a":{"cardinality":{"field":"id","field":"status"}}}}`,
			`{"aggregations":{"a":{"value":9e9}}}`,
		},
		"two lists": {
			`{"aggs":{` + status + `},"aggregations":{"a":{"max":{"field":"n"}}}}`,
			`{"aggregations":{"a":{"value":9e9}}}`,
		},
		"aggregations where none are read": {
			`{"query":{"match_all":{}},"params":{"aggs":{` + status + `}},"ext":{"aggs":{` + status + `}}}`,
			`{"aggregations":{"a":{"value":9e9}}}`,
		},
		"a pipeline of its own": {
			`{"aggs":{` + status + `},"search_pipeline":{"request_processors":[]}}`,
			`{"aggregations":{"a":{"value":9e9}}}`,
		},
		"a coarse sketch": {
			`{"aggs":{"a":{"cardinality":{"field":"status","precision_threshold":0}}}}`,
			`{"aggregations":{"a":{"value":9e9}}}`,
		},
		"counts that are hidden": { // with filter_path
			`{"aggs":{"a":{"terms":{"field":"status","size":1}}}}`,
			`{"aggregations":{"a":{"sum_other_doc_count":9e9,"buckets":[{"doc_count":1}]}}}`,
		},
		"a field without quotes": {`{aggs:{` + status + `,script:{}}}`, `{"aggregations":{"a":{"value":9e9}}}`},
	} {
		l, err := NewLearner(LearnConfig{Store: &keeper{}})
		if err != nil {
			t.Fatal(err)
		}
		l.Observe(Seen{Index: "shop", Body: []byte(c.request), Answer: []byte(c.answer)})
		if set, _ := l.turn(time.Now()); len(set) > 0 {
			t.Errorf("%s: %+v", name, set)
		}
	}
}

type keeper struct{ sets []guard.HintSet }

func (k *keeper) Set(source guard.Source, set guard.HintSet, _ time.Time) error {
	if source != guard.Learned {
		return errors.New("another source")
	}
	k.sets = append(k.sets, set)
	return nil
}

func TestLowerBoundsDecay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &guard.HintStore{}
		l, err := NewLearner(LearnConfig{Store: store, Keep: 2 * time.Hour, MaxLearned: 2})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		see := func(field string, values int) {
			l.Observe(Seen{
				Index: "shop", Body: fmt.Appendf(nil, `{"aggs":{"x":{"cardinality":{"field":%q}}}}`, field),
				Answer: fmt.Appendf(nil, `{"took":1,"aggregations":{"x":{"value":%d}}}`, values),
			})
		}
		known := func(field string) float64 {
			f, _ := store.Field("shop", field)
			return f.Cardinality
		}
		see("a", 500_000)
		see("b", 300_000)
		see("c", 900_000) // one more than is kept
		time.Sleep(2 * time.Minute)
		if known("a") != 500_000 || known("b") != 300_000 || known("c") != 0 {
			t.Errorf("%v %v %v", known("a"), known("b"), known("c"))
		}
		time.Sleep(time.Hour)
		see("b", 200_000)
		time.Sleep(30 * time.Minute)
		if known("a") != 500_000 || known("b") != 300_000 {
			t.Errorf("after a period: %v %v", known("a"), known("b"))
		}
		time.Sleep(time.Hour)
		if known("a") != 0 || known("b") != 200_000 {
			t.Errorf("after two: %v %v", known("a"), known("b"))
		}
		see("c", 900_000) // there is room again
		time.Sleep(2 * time.Minute)
		if known("c") != 900_000 {
			t.Errorf("%v", known("c"))
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := NewLearner(LearnConfig{MaxShapes: 3, HalfLife: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		see := func(shape uint64, predicted float64, took int) {
			l.Observe(Seen{Shape: shape, Predicted: predicted, Answer: fmt.Appendf(nil, `{"took":%d,"timed_out":%v}`, took, took > 5000)})
		}
		for range 8 {
			see(1, 10, 100) // as predicted
			see(2, 20, 200)
		}
		see(3, 1, 6000) // much worse
		fits := l.Fits(10)
		if len(fits) != 3 || fits[0].Shape != 3 || fits[0].TimedOut != 1 || fits[0].Excess < 100 || fits[1].Excess > 1 || fits[1].Seen != 8 || fits[1].Took != 100*time.Millisecond {
			t.Errorf("%+v", fits)
		}
		if see(4, 1, 5); len(l.Fits(10)) != 3 || l.Fits(1)[0].Shape != 3 {
			t.Errorf("a quick one took the room of a slow one: %+v", l.Fits(10))
		}
		time.Sleep(10 * time.Hour)
		see(4, 1, 5) // by now what was slow is forgotten
		fits = l.Fits(10)
		found := false
		for _, f := range fits {
			found = found || f.Shape == 4
		}
		if len(fits) != 3 || !found {
			t.Errorf("%+v", fits)
		}
		for i := range uint64(1000) {
			see(i, float64(i), int(i))
		}
		if n := len(l.Fits(1 << 20)); n != 3 {
			t.Errorf("%d shapes are kept", n)
		}
	})
}

func TestLearnConfigFaults(t *testing.T) {
	_, err := NewLearner(LearnConfig{Interval: -1, Above: -1, MaxLearned: -1, MaxShapes: -1})
	for _, name := range []string{"Interval", "Above", "MaxLearned", "MaxShapes"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("no fault of %s in %v", name, err)
		}
	}
}

func FuzzObserve(f *testing.F) {
	f.Add([]byte(answered), []byte(`{"aggs":{"users":{"terms":{"field":"user.id"},"aggs":{"c":{"cardinality":{"field":"ip"}}}}}}`))
	f.Add([]byte(`{"took":1,"aggregations":{"x#y":{"value":1e300}}}`), []byte(`{"aggregations":{"y":{"cardinality":{"field":"f"}}}}`))
	f.Add([]byte(`{"took":1,"aggregations":{"a":{"buckets":[[{"doc_count":5}]]}},"x":[[[[`), []byte(`{"aggs":[{"x":/**/5}]}`))
	f.Fuzz(func(t *testing.T, head, body []byte) {
		l, err := NewLearner(LearnConfig{Store: &keeper{}, Above: 1})
		if err != nil {
			t.Fatal(err)
		}
		a := l.Observe(Seen{Index: "i", Body: body, Answer: head, Predicted: 5})
		if a.Took < 0 || a.Hits < 0 || a.Buckets < 0 || a.Shards < 0 {
			t.Errorf("%+v", a)
		}
		set, _ := l.turn(time.Now())
		for field, h := range set["i"].Fields {
			if !(h.Cardinality > 1) || !strings.Contains(string(body), field) {
				t.Errorf("%q: %+v", field, h)
			}
		}
		l.Fits(5)
	})
}

func BenchmarkObserve(b *testing.B) {
	l, err := NewLearner(LearnConfig{Store: &keeper{}})
	if err != nil {
		b.Fatal(err)
	}
	s := Seen{Index: "logs", Shape: 1, Predicted: 3, Answer: []byte(answered), Body: []byte(`{"size":0,"aggs":{"users":{"terms":{"field":"user.id","size":2},"aggs":{"c":{"cardinality":{"field":"ip"}}}}}}`)}
	b.ReportAllocs()
	for b.Loop() {
		l.Observe(s)
	}
}
