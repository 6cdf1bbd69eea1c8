package health_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/health"
)

// A server that says how it is, warms up first, and stops as a server should: not
// ready, then no new connections, then the end.
func Example() {
	h, err := health.New(health.Config{ // the zero Config looks at the machine as well
		Memory: health.Never(), FDs: health.Never(), CPU: health.Never(), Disks: []health.Disk{},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var warm atomic.Bool
	err = h.Check("warm", health.CheckConfig{Interval: 100 * time.Millisecond, Func: func(context.Context) error {
		if !warm.Load() {
			return errors.New("the cache is being filled")
		}
		return nil
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()

	mux := http.NewServeMux()
	mux.Handle("/livez", h.Livez())
	mux.Handle("/readyz", h.Readyz())
	mux.Handle("/healthz", h.Healthz())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = server.Serve(listener) }()

	await := func(path, want string) { // as a balancer does, a little less patiently
		for got := ""; got != want; {
			got = get("http://" + listener.Addr().String() + path)
		}
		fmt.Println(path, want)
	}
	await("/livez", "200 ok")
	await("/readyz", "503 not ready: failing: warm")
	warm.Store(true)
	await("/readyz", "200 ok")
	h.Drain()
	await("/readyz", "503 not ready: draining")

	http.DefaultClient.CloseIdleConnections()
	_ = server.Shutdown(ctx)
	stop()
	fmt.Println(<-done)
	// Output:
	// /livez 200 ok
	// /readyz 503 not ready: failing: warm
	// /readyz 200 ok
	// /readyz 503 not ready: draining
	// <nil>
}

func get(url string) string {
	resp, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	var line string
	text, _ := io.ReadAll(resp.Body)
	if len(text) > 0 {
		line = string(text[:len(text)-1])
	}
	return fmt.Sprint(resp.StatusCode, " ", line)
}

// Calls to another service are measured where they are made.
func ExampleDependency_Wrap() {
	h, err := health.New(health.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	rates := h.Dependency("rates", health.DependencyConfig{
		Optional: true, // without rates we degrade, and stay in traffic
		Rules: health.Rules{
			Latency: health.Limits{Degraded: health.Band{Upper: 0.5, Lower: 0.3}}, // seconds, at the 99th percentile
		},
	})
	client := &http.Client{Transport: rates.Wrap(http.DefaultTransport), Timeout: 2 * time.Second}
	_, err = client.Get("http://127.0.0.1:1/") // nobody is there: counted as failed
	fmt.Println(err != nil)
	// Output: true
}

// So are queries. Errors that are answers are told apart once.
func ExampleDependency_Track() {
	errNoRows := errors.New("sql: no rows in result set") // sql.ErrNoRows
	h, err := health.New(health.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	db := h.Dependency("db", health.DependencyConfig{Classify: func(err error) health.Result {
		if errors.Is(err, errNoRows) {
			return health.Good
		}
		return health.Classify(err)
	}})
	err = db.Track(context.Background(), func(context.Context) error {
		return errNoRows // pool.QueryRowContext(ctx, query, id).Scan(&name)
	})
	fmt.Println(err)
	// Output: sql: no rows in result set
}
