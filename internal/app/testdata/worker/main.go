// Command worker is the worker of internal/app's tests, which pills kill. With
// APP_TEST_ROLE=leaky it takes memory instead. It is a program of its own because it
// starts in a tenth of the time that the test binary takes, and is started hundreds of
// times.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	if os.Getenv("APP_TEST_ROLE") == "leaky" {
		os.Exit(leaky())
	}
	worker()
}

// worker serves many requests at once, but one at a time below /loop, health
// included. It dies of a pill in the body or the query.
func worker() {
	var loop sync.Mutex
	mux := http.NewServeMux()
	build, _ := os.ReadFile(os.Getenv("APP_TEST_BUILD")) // none: a good one
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {
		loop.Lock()
		defer loop.Unlock()
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		work := r.URL.RawQuery + string(body)
		if r.URL.Path == "/loop" {
			loop.Lock()
			defer loop.Unlock()
		}
		switch {
		case strings.Contains(work, "crash"), string(build) == "bad":
			_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
			select {}
		case strings.Contains(work, "exit"):
			fmt.Fprintf(os.Stderr, "fatal: a request called exit, with %s and %s\n", r.FormValue("token"), r.Header.Get("Authorization"))
			os.Exit(0)
		case strings.Contains(work, "hang"):
			loop.Lock() // for good, and with it the health check
			select {}
		case strings.Contains(work, "dawdle"):
			select {}
		case strings.Contains(work, "linger"): // its answer begins, and never ends
			_ = http.NewResponseController(w).Flush()
			select {}
		case strings.Contains(work, "ms=20"):
			time.Sleep(20 * time.Millisecond)
		case strings.Contains(work, "ms=80"):
			time.Sleep(80 * time.Millisecond)
		case strings.Contains(work, "slow"):
			time.Sleep(300 * time.Millisecond)
		default:
			time.Sleep(5 * time.Millisecond)
		}
		fmt.Fprintf(w, "%d %s", os.Getpid(), work)
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), mux))
	os.Exit(1)
}

// leaky is a worker that takes memory after it was asked to, and keeps it: it may
// be restarted for it before it has all.
func leaky() int {
	var mu sync.Mutex
	var kept [][]byte
	leak := func(mib int) {
		b := make([]byte, mib<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1 // resident
		}
		mu.Lock()
		defer mu.Unlock()
		kept = append(kept, b)
	}
	if n, err := strconv.Atoi(os.Getenv("APP_TEST_LEAK")); err == nil {
		leak(n)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/leak", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("mib"))
		go leak(n)
		fmt.Fprint(w, os.Getpid())
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, os.Getpid())
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), mux))
	mu.Lock()
	defer mu.Unlock()
	return len(kept) + 1
}
