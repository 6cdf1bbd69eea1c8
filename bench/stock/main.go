// Stock is Go's stock reverse proxy and nothing else: the peer that a Go program
// would be without Bezoar.
//
//	stock [-cert FILE -key FILE] [-h2c] LISTEN WORKER...
package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync/atomic"
)

func main() {
	cert := flag.String("cert", "", "PEM `file` of the certificate; none: callers come without TLS")
	key := flag.String("key", "", "PEM `file` of its key")
	h2c := flag.Bool("h2c", false, "HTTP/2 without TLS, from callers and to workers")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: stock [-cert FILE -key FILE] [-h2c] LISTEN WORKER...")
		os.Exit(2)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // it ends with its standard input
		os.Exit(0)
	}()
	workers := flag.Args()[1:]
	var turn atomic.Uint64
	transport := &http.Transport{MaxIdleConns: 512, MaxIdleConnsPerHost: 128, DisableCompression: true}
	server := &http.Server{Addr: flag.Arg(0), Handler: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: workers[turn.Add(1)%uint64(len(workers))]})
			r.SetXForwarded()
		},
		Transport: transport,
	}}
	if *h2c {
		transport.Protocols, server.Protocols = new(http.Protocols), new(http.Protocols)
		transport.Protocols.SetUnencryptedHTTP2(true)
		server.Protocols.SetUnencryptedHTTP2(true)
	}
	serve := server.ListenAndServe
	if *cert != "" {
		serve = func() error { return server.ListenAndServeTLS(*cert, *key) }
	}
	fmt.Fprintln(os.Stderr, "stock:", serve())
	os.Exit(1)
}
