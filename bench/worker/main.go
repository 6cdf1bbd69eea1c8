// Worker is what the pill benchmark kills: an HTTP server that serves requests
// concurrently, 20 ms each and 100 ms for /report, and that does not survive a
// pill: the word "poison" in a body or a query. It ends with its standard input.
//
//	worker ADDR crash|hang
//
// It crashes at once with exit code 3. Or it hangs as an event loop does, with
// every other request and the health page waiting too, until what stands for a
// liveness probe ends it after 10 s with exit code 4. Either way it says
// "lost" on its standard output first.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	usual    = 20 * time.Millisecond
	slow     = 100 * time.Millisecond
	liveness = 10 * time.Second
	maxBody  = 1 << 20
	pill     = "poison"
)

func main() {
	if len(os.Args) != 3 || os.Args[2] != "crash" && os.Args[2] != "hang" {
		fmt.Fprintln(os.Stderr, "usage: worker ADDR crash|hang")
		os.Exit(2)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	w := &worker{hang: os.Args[2] == "hang"}
	fmt.Fprintln(os.Stderr, "worker:", http.ListenAndServe(os.Args[1], w))
	os.Exit(1)
}

type worker struct {
	hang bool
	loop sync.RWMutex // locked for good when the worker hangs
}

func (wk *worker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	wk.pass()
	if r.URL.Path == "/healthz" {
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return // the caller is gone
	}
	if bytes.Contains(body, []byte(pill)) || strings.Contains(r.URL.RawQuery, pill) {
		wk.swallow()
	}
	took := usual
	if r.URL.Path == "/report" {
		took = slow
	}
	time.Sleep(took)
	wk.pass()
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"ok":true}`)
}

// pass waits while the worker hangs.
func (wk *worker) pass() {
	wk.loop.RLock()
	wk.loop.RUnlock() //nolint:staticcheck // passing is all
}

// swallow does not return. Of several pills one is the death of the worker.
func (wk *worker) swallow() {
	wk.loop.Lock()
	fmt.Println("lost")
	if wk.hang {
		time.Sleep(liveness)
		os.Exit(4)
	}
	os.Exit(3)
}
