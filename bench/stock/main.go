// Stock is Go's stock reverse proxy and nothing else: the peer that a Go program
// would be without Bezoar.
//
//	stock LISTEN WORKER...
package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync/atomic"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: stock LISTEN WORKER...")
		os.Exit(2)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // it ends with its standard input
		os.Exit(0)
	}()
	workers := os.Args[2:]
	var turn atomic.Uint64
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: workers[turn.Add(1)%uint64(len(workers))]})
			r.SetXForwarded()
		},
		Transport: &http.Transport{MaxIdleConns: 512, MaxIdleConnsPerHost: 128, DisableCompression: true},
	}
	fmt.Fprintln(os.Stderr, "stock:", http.ListenAndServe(os.Args[1], proxy))
	os.Exit(1)
}
