package gateway

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
)

// Work that waits for a worker does not hold up the end beyond DrainTimeout.
func TestDrainCutsWhatWaitsForAWorker(t *testing.T) {
	known, err := ledger.New(ledger.Config{Fleet: "app"})
	if err != nil {
		t.Fatal(err)
	}
	workers, err := fleet.New(fleet.Config{Name: "app"})
	if err != nil {
		t.Fatal(err)
	}
	workers.Add("app-1") // and never up
	doer, err := dispatch.New(dispatch.Config{Fleet: workers, Ledger: known, Wait: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan struct{}, 1)
	g, err := New(Config{Routes: []Route{{Path: "/*", Doer: told{doer, waits}, Printer: printer(t)}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewServer(g, ServerConfig{DrainTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-waits
	stop()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("Run returned nil although work was cut")
		}
	case <-time.After(patience):
		t.Fatal("Run waits for work that waits for a worker")
	}
}

// told is a Doer that tells when it is called.
type told struct {
	Doer
	called chan struct{}
}

func (d told) Do(ctx context.Context, w dispatch.Work, j dispatch.Job) dispatch.Answer {
	d.called <- struct{}{}
	return d.Doer.Do(ctx, w, j)
}

func printer(t *testing.T) Printer {
	t.Helper()
	p, err := fingerprint.New(fingerprint.Key{}, fingerprint.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
