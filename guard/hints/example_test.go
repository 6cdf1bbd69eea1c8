package hints_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/hints"
)

// One store holds what files say, what was polled and what was learned; the
// guard asks it.
func Example() {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/_cat/indices":
			fmt.Fprint(w, `[{"index": "shop", "status": "open", "docs.count": "2000000", "pri": "4"}]`)
		case strings.HasSuffix(r.URL.Path, "/_mapping"):
			fmt.Fprint(w, `{"shop": {"mappings": {"properties": {"sku": {"type": "keyword"}}}}}`)
		default:
			fmt.Fprint(w, `{}`)
		}
	}))
	defer backend.Close()

	store := told{new(guard.HintStore), make(chan struct{}, 1)}
	poller, err := hints.New(hints.Config{URL: backend.URL, Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	done := make(chan error, 1)
	go func() { done <- poller.Run(ctx) }()
	select {
	case <-store.once:
	case <-ctx.Done():
	}
	stop()
	<-done

	index, _ := store.Index("shop")
	field, _ := store.Field("shop", "sku")
	fmt.Println(index.Docs, index.Shards, field.Type)
	// Output: 2e+06 4 keyword
}

// told says when its store knows something.
type told struct {
	*guard.HintStore
	once chan struct{}
}

func (s told) Set(source guard.Source, set guard.HintSet, at time.Time) error {
	err := s.HintStore.Set(source, set, at)
	select {
	case s.once <- struct{}{}:
	default:
	}
	return err
}

func ExampleReadAnswer() {
	a := hints.ReadAnswer([]byte(`{"took": 37, "timed_out": false, "_shards": {"total": 5, "failed": 1}, "hits": {"total": {"value": 10000, "relation": "gte"}, "hits": [{"_id": "1", "_sour`))
	fmt.Println(a.Took, a.Hits, a.FailedShards, a.Cut)
	// Output: 37ms 10000 1 true
}

func ExampleLearner() {
	store := &guard.HintStore{}
	l, err := hints.NewLearner(hints.LearnConfig{Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	l.Observe(hints.Seen{
		Index: "logs", Shape: 7, Predicted: 4,
		Body:   []byte(`{"size": 0, "aggs": {"users": {"terms": {"field": "user.id", "size": 2}}}}`),
		Answer: []byte(`{"took": 900, "aggregations": {"users": {"sum_other_doc_count": 999000, "buckets": [{"key": "a", "doc_count": 3}, {"key": "b", "doc_count": 2}]}}}`),
	})
	for _, f := range l.Fits(1) {
		fmt.Println(f.Predicted, f.Took.Round(time.Millisecond), f.Buckets) // what was seen weighs less as time passes
	}
	// Output: 4 900ms 2
}
