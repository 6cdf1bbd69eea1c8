// Command elastic makes the round of a guarded Elasticsearch with the official
// client: it searches, is refused, is capped, and goes on while limits change.
// CLIENTS_ENDPOINT is the gateway, CLIENTS_LIMITS the file of limits that it
// follows.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	elasticsearch "github.com/elastic/go-elasticsearch/v9"
	"github.com/elastic/go-elasticsearch/v9/typedapi/core/search"
	"github.com/elastic/go-elasticsearch/v9/typedapi/types"
)

// patience bounds how long a change of limits takes.
const patience = 2 * time.Minute

type round struct {
	es, zipped *elasticsearch.TypedClient
	limits     string // file
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Println("FAIL", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	r := round{limits: os.Getenv("CLIENTS_LIMITS")}
	var err error
	// A client that tries again would hide what is lost.
	cfg := elasticsearch.Config{Addresses: []string{os.Getenv("CLIENTS_ENDPOINT")}, DisableRetry: true}
	if r.es, err = elasticsearch.NewTypedClient(cfg); err != nil {
		return err
	}
	cfg.CompressRequestBody = true
	if r.zipped, err = elasticsearch.NewTypedClient(cfg); err != nil {
		return err
	}
	for _, check := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"what is no search passes", r.others},
		{"an ordinary search is answered", r.ordinary},
		{"a costly search is a typed error", r.costly},
		{"a compressed body is read, too", r.compressed},
		{"a cap changes the size, and a field says so", r.capped},
		{"limits change in the midst of traffic, and nothing is lost", r.changing},
	} {
		if err := check.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", check.name, err)
		}
		fmt.Println("ok   " + check.name)
	}
	return nil
}

func (r *round) others(ctx context.Context) error {
	if _, err := r.es.Info().Do(ctx); err != nil {
		return err
	}
	res, err := r.es.Index("shop").Id("1").Document(map[string]string{"colour": "red"}).Do(ctx)
	if err == nil && res.Id_ != "1" {
		err = fmt.Errorf("indexed %+v", res)
	}
	return err
}

// reds searches for so many hits. The backend answers how many it was asked
// for as the number of hits.
func reds(es *elasticsearch.TypedClient, size int) *search.Search {
	return es.Search().Index("shop").Size(size).Query(&types.Query{Term: map[string]types.TermQuery{"colour": {Value: "red"}}})
}

func asked(res *search.Response) int64 {
	if res.Hits.Total == nil {
		return -1
	}
	return res.Hits.Total.Value
}

func (r *round) ordinary(ctx context.Context) error {
	res, err := reds(r.es, 10).Do(ctx)
	if err == nil && asked(res) != 10 {
		err = fmt.Errorf("%d hits were asked for, want 10", asked(res))
	}
	return err
}

// pairs asks for the buckets of each pair of two fields' values.
func pairs(es *elasticsearch.TypedClient) *search.Search {
	many, first, second := 5000, "visitor", "page"
	return es.Search().Index("shop").Size(0).Aggregations(map[string]types.Aggregations{"visitors": {
		Terms:        &types.TermsAggregation{Field: &first, Size: &many},
		Aggregations: map[string]types.Aggregations{"pages": {Terms: &types.TermsAggregation{Field: &second, Size: &many}}},
	}})
}

// refused says what is missing in an error of the guard.
func refused(err error, want string) error {
	e, ok := errors.AsType[*types.ElasticsearchError](err)
	switch {
	case !ok:
		return fmt.Errorf("%w (%T) is no error of Elasticsearch", err, err)
	case e.Status != http.StatusBadRequest || e.ErrorCause.Type != "bezoar_query_rejected_exception" || e.ErrorCause.Reason == nil || len(e.ErrorCause.RootCause) != 1:
		return fmt.Errorf("the error is %d %+v", e.Status, e.ErrorCause)
	case !strings.Contains(*e.ErrorCause.Reason, want):
		return fmt.Errorf("the reason %q does not name %s", *e.ErrorCause.Reason, want)
	}
	return nil
}

func (r *round) costly(ctx context.Context) error {
	_, err := pairs(r.es).Do(ctx)
	if err == nil {
		return errors.New("it was answered")
	}
	return refused(err, "agg_product")
}

func (r *round) compressed(ctx context.Context) error {
	if _, err := reds(r.zipped, 10).Do(ctx); err != nil {
		return err
	}
	_, err := pairs(r.zipped).Do(ctx)
	if err == nil {
		return errors.New("a costly search was answered")
	}
	return refused(err, "agg_product")
}

func (r *round) capped(ctx context.Context) error {
	panel := reds(r.es, 500).Header("X-Opaque-Id", "grafana-7")
	res, err := panel.Perform(ctx)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if got := res.Header.Get("X-Bezoar-Guard-Caps"); res.Header.Get("X-Bezoar-Guard") != "cap" || got != "result_window 500->50" {
		return fmt.Errorf("%s, %q was lowered", res.Status, got)
	}
	typed, err := reds(r.es, 500).Header("X-Opaque-Id", "grafana-7").Do(ctx)
	if err == nil && asked(typed) != 50 {
		err = fmt.Errorf("%d hits were asked for, want 50", asked(typed))
	}
	return err
}

// changing tightens the limits while searches go on, and loosens them again.
func (r *round) changing(ctx context.Context) error {
	original, err := os.ReadFile(r.limits)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	var answered, rejected atomic.Int64
	lost := make(chan error, 8)
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				_, err := reds(r.es, 500).Do(context.WithoutCancel(ctx))
				switch {
				case err == nil:
					answered.Add(1)
				case refused(err, "result_window") == nil:
					rejected.Add(1)
				default:
					lost <- err
					return
				}
			}
		})
	}
	for _, step := range []struct {
		limits string
		count  *atomic.Int64
	}{
		{string(original), &answered},
		{"rules:\n  - {predictor: result_window, limit: 100}\n", &rejected},
		{string(original), &answered},
	} {
		if err := replace(r.limits, step.limits); err != nil {
			return err
		}
		if err := grows(step.count, lost); err != nil {
			return err
		}
	}
	return nil
}

// replace writes a file at once.
func replace(file, text string) error {
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// grows waits until n has grown by some.
func grows(n *atomic.Int64, lost <-chan error) error {
	const some = 20
	until := n.Load() + some
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for n.Load() < until {
		select {
		case err := <-lost:
			return fmt.Errorf("a search was lost: %w", err)
		case <-late:
			return fmt.Errorf("the new limits do not hold after %v", patience)
		case <-tick.C:
		}
	}
	return nil
}
