// Calls is the load and the worker of the gateway benchmark where wrk cannot be:
// package bench/internal/calls says of what. The load ends with the line of
// figures that the script for wrk ends with; the worker ends with its standard
// input.
//
//	calls grpc|websocket ADDR CALLERS DISTINCT LENGTH
//	calls serve ADDR...
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/calls"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "calls:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: calls grpc|websocket ADDR CALLERS DISTINCT LENGTH, or calls serve ADDR...")

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 1 && args[0] == "serve" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
		return serve(args[1:])
	}
	if len(args) != 5 {
		return errUsage
	}
	cfg := calls.Config{Kind: args[0], Addr: args[1]}
	var errs [3]error
	cfg.Callers, errs[0] = strconv.Atoi(args[2])
	cfg.Distinct, errs[1] = strconv.Atoi(args[3])
	cfg.Length, errs[2] = time.ParseDuration(args[4])
	if err := errors.Join(errs[:]...); err != nil {
		return errors.Join(errUsage, err)
	}
	f, err := calls.Run(ctx, cfg)
	if err != nil {
		return err
	}
	line, err := json.Marshal(f)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "bench %s\n", line)
	return err
}

// serve answers at every address, until one fails.
func serve(addrs []string) error {
	failed := make(chan error, len(addrs))
	server := calls.Server()
	for _, addr := range addrs {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		go func() { failed <- server.Serve(l) }()
	}
	return <-failed
}
