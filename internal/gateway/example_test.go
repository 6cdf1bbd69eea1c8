package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/gateway"
)

// A fleet of one worker behind a gateway. A keeper of the fleet would report
// the worker's lives; here it has just the one.
func Example() {
	worker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "found %s for %s", r.URL.Query().Get("q"), r.Header.Get("X-Forwarded-For"))
	}))
	defer worker.Close()

	known, err := ledger.New(ledger.Config{Fleet: "search"})
	check(err)
	workers, err := fleet.New(fleet.Config{
		Name:    "search",
		Connect: gateway.Upstream{}.Connect,
		Opened:  func(epoch uint64, _ string) { known.Opened(epoch) },
	})
	check(err)
	doer, err := dispatch.New(dispatch.Config{Fleet: workers, Ledger: known})
	check(err)
	epoch := workers.Up("search-1", worker.Listener.Addr().String())
	defer workers.Down("search-1", epoch, fleet.End{Planned: true})

	printer, err := fingerprint.New(fingerprint.Key{}, fingerprint.Config{}) // a real key is secret
	check(err)
	g, err := gateway.New(gateway.Config{Routes: []gateway.Route{
		{Path: "/search/*", Doer: doer, Printer: printer, Replay: gateway.ReplayIdempotent},
	}})
	check(err)
	server, err := gateway.NewServer(g, gateway.ServerConfig{Listen: "127.0.0.1:0"})
	check(err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- server.Run(ctx) }()

	for _, path := range []string{"/search/?q=stone", "/other"} {
		resp, err := http.Get("http://" + server.Addr().String() + path)
		check(err)
		body, err := io.ReadAll(resp.Body)
		check(err)
		resp.Body.Close()
		fmt.Println(resp.StatusCode, resp.Header.Get("Content-Type"))
		if resp.StatusCode == http.StatusOK {
			fmt.Println(string(body))
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	check(<-done)

	// Output:
	// 200 text/plain; charset=utf-8
	// found stone for 127.0.0.1
	// 404 application/problem+json
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
