package amqp

import (
	"context"
	"crypto/tls"
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

// terminate speaks TLS for the broker, and wants certificates of its clients.
func terminate(t *testing.T, certs *brokertest.Certificates, broker string) (address string) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", certs.Server(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				behind, err := net.Dial("tcp", broker)
				if err != nil {
					return
				}
				defer behind.Close()
				go func() {
					_, _ = io.Copy(conn, behind) // until one of them ends
					_ = conn.Close()
				}()
				_, _ = io.Copy(behind, conn)
			}()
		}
	}()
	return l.Addr().String()
}

// A broker behind TLS that wants certificates of its clients: a sink and a source.
func TestTLS(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	certs := brokertest.NewCertificates(t)
	address := terminate(t, certs, r.cfg.Brokers[0])
	certs.OverTLS(t, func(t *testing.T, parameters string) error {
		t.Helper()
		user := url.UserPassword(r.cfg.User, r.cfg.Password).String()
		sink, err := SinkFromURL("amqps://"+user+"@"+address+"/?routing_key="+r.cfg.Queue+"&"+parameters, sinktest.Source, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer sink.Close()
		sent := sink.Send(t.Context(), []outbox.Record{sinktest.Record(1, "k")})[0]
		cfg, err := FromURL("amqps://"+user+"@"+address+"/"+r.cfg.Queue+"?"+parameters, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, err = s.Open(t.Context())
		if (err == nil) != (sent == nil) {
			t.Errorf("the sink says %v, and the source %v", sent, err)
		}
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := s.Receive(ctx, worker.Receive{Max: 1, Wait: time.Minute})
		if err != nil || len(got) != 1 {
			t.Fatalf("%v came (%v), want one message", got, err)
		}
		return s.Done(t.Context(), got[0])
	})
}
