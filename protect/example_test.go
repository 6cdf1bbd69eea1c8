package protect_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/protect"
	"github.com/bezoar-dev/bezoar/quota"
)

// A server written in Go that needs no gateway in front: two requests a minute
// for every API key, as much at once as its latency allows, and a breaker.
func Example() {
	limiter, err := quota.New(quota.Config{Quotas: []quota.Quota{{Name: "free", Limit: 2, Per: time.Minute}}})
	check(err)
	pool, err := overload.New(overload.Config{Name: "search"})
	check(err)
	circuits, err := circuit.New(circuit.Config{})
	check(err)
	search, err := circuits.Breaker("search", breaker.Config{})
	check(err)

	wrap, err := protect.New(protect.Config{
		Name:     "search",
		Client:   "header:X-Api-Key",
		Limiter:  limiter,
		Limits:   []protect.Limit{{Quota: 0, Key: "client"}},
		Pool:     pool,
		Breaker:  search,
		Slow:     2 * time.Second,
		Fallback: []protect.Fallback{{On: []protect.FallbackCause{protect.Open}, Static: &protect.Static{Body: []byte("[]")}}},
	})
	check(err)
	server := httptest.NewServer(wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "found")
	})))
	defer server.Close()

	for range 3 {
		req, err := http.NewRequest(http.MethodGet, server.URL, http.NoBody)
		check(err)
		req.Header.Set("X-Api-Key", "k1")
		resp, err := server.Client().Do(req)
		check(err)
		if resp.StatusCode == http.StatusOK {
			fmt.Println(resp.StatusCode, resp.Header.Get("RateLimit-Policy"))
			resp.Body.Close()
			continue
		}
		var problem struct {
			Rule   string
			Limit  int
			Excess int
		}
		check(json.NewDecoder(resp.Body).Decode(&problem))
		resp.Body.Close()
		fmt.Printf("%d %+v\n", resp.StatusCode, problem)
	}

	// Output:
	// 200 "free";q=2;w=60
	// 200 "free";q=2;w=60
	// 429 {Rule:rate:free Limit:2 Excess:1}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
