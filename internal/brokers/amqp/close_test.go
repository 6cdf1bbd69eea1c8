package amqp

import (
	"context"
	"io"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/brokers/brokertest"
	"github.com/bezoar-dev/bezoar/internal/outbox/sinks/sinktest"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/worker"
)

// silenced forwards connections to a broker until they are silenced: then both sides are
// connected, and nothing comes.
func silenced(t *testing.T, broker string) (address string, silence func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	still, over := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(over); _ = l.Close() })
	forward := func(to, from net.Conn) {
		defer to.Close()
		buf := make([]byte, 4096)
		for {
			n, err := from.Read(buf)
			select {
			case <-still:
				<-over
				return
			default:
			}
			if err != nil {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			behind, err := net.Dial("tcp", broker)
			if err != nil {
				_ = conn.Close() // the client sees it
				continue
			}
			go forward(conn, behind)
			go forward(behind, conn)
		}
	}()
	return l.Addr().String(), func() { close(still) }
}

// A broker that is connected and says nothing any more does not keep a sink or a source
// that closes.
func TestClosingWhenTheBrokerIsSilent(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	user := url.UserPassword(r.cfg.User, r.cfg.Password).String()
	within := func(t *testing.T, most time.Duration, c io.Closer) {
		t.Helper()
		began := time.Now()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > most {
			t.Errorf("it took %v to close", took)
		}
	}
	t.Run("sink", func(t *testing.T) {
		t.Parallel()
		address, silence := silenced(t, r.cfg.Brokers[0])
		s, err := SinkFromURL("amqp://"+user+"@"+address+"/?routing_key="+r.cfg.Queue, sinktest.Source, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(t.Context(), []outbox.Record{sinktest.Record(1, "k")})[0]; err != nil {
			t.Fatal(err)
		}
		silence()
		within(t, 5*time.Second, s)
		within(t, time.Second, s)
	})
	t.Run("sink that sends", func(t *testing.T) {
		t.Parallel()
		address, silence := silenced(t, r.cfg.Brokers[0])
		s, err := SinkFromURL("amqp://"+user+"@"+address+"/?routing_key="+r.cfg.Queue, sinktest.Source, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(t.Context(), []outbox.Record{sinktest.Record(2, "k")})[0]; err != nil {
			t.Fatal(err)
		}
		silence()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := s.Send(ctx, []outbox.Record{sinktest.Record(3, "k")})[0]; err == nil {
			t.Error("it is delivered")
		}
		within(t, 5*time.Second, s)
	})
	t.Run("source", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, nil)
		r.Send(t, brokertest.Sent{Body: []byte("one")})
		address, silence := silenced(t, r.cfg.Brokers[0])
		r.cfg.Brokers = []string{address}
		s := r.source()
		if _, err := s.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := s.Receive(t.Context(), worker.Receive{Max: 1, Wait: time.Minute})
		if err != nil || len(got) != 1 {
			t.Fatalf("%v came (%v), want one message", got, err)
		}
		silence()
		within(t, 12*time.Second, s)
	})
}
