package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// workerArg makes this program a worker instead.
const workerArg = "serve-as-worker"

// poison is the death of a worker that finds it in a body.
const poison = "poison"

// work serves at addr, 2 ms each.
func work(addr string) error {
	return http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			return // the caller is gone
		}
		if bytes.Contains(body, []byte(poison)) {
			fmt.Fprintln(os.Stderr, "fatal: a request was poison")
			os.Exit(3)
		}
		if r.URL.Path != "/healthz" {
			time.Sleep(2 * time.Millisecond)
		}
	}))
}
