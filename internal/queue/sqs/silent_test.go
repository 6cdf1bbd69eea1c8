package sqs_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/internal/queue/sqs"
)

// doors is a listener whose connections are pipes.
type doors struct {
	knocks chan net.Conn
	shut   chan struct{}
	once   sync.Once
}

func (d *doors) Accept() (net.Conn, error) {
	select {
	case c := <-d.knocks:
		return c, nil
	case <-d.shut:
		return nil, net.ErrClosed
	}
}

func (d *doors) Close() error {
	d.once.Do(func() { close(d.shut) })
	return nil
}

func (d *doors) Addr() net.Addr { return &net.TCPAddr{} }

// Callers that are connected and say nothing do not hold up the end.
func TestSilentCallersDoNotHoldUpTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := sqs.NewServer(sqs.Config{Engine: newEngine(t), Address: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		d := &doors{knocks: make(chan net.Conn), shut: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Serve(ctx, d) }()
		for range 3 {
			silent, theirs := net.Pipe()
			defer silent.Close()
			d.knocks <- theirs
		}
		synctest.Wait()
		began := time.Now()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Second { // of the bubble's time
			t.Errorf("it took %v to end", took)
		}
	})
}
