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

// One store holds what files say and what was polled; the guard asks it.
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
