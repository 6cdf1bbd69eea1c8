package nats

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bezoar-dev/bezoar/internal/brokers/brokertest"
	"github.com/bezoar-dev/bezoar/internal/outbox/sinks/sinktest"
	"github.com/bezoar-dev/bezoar/outbox"
)

// A server that wants TLS, and certificates of its clients: a sink and a source.
func TestTLS(t *testing.T) {
	t.Parallel()
	certs := brokertest.NewCertificates(t)
	s := start(t, func(o *server.Options) { o.TLSConfig, o.TLS, o.TLSVerify = certs.Server(t), true, true })
	conn, err := nats.Connect("tls://"+s.Addr().String(), nats.RootCAs(certs.CA), nats.ClientCert(certs.ClientCert, certs.ClientKey))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	t.Run("sink", func(t *testing.T) {
		certs.OverTLS(t, func(t *testing.T, parameters string) error {
			t.Helper()
			sink, err := SinkFromURL("nats://"+s.Addr().String()+"/s?"+parameters, sinktest.Source, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer sink.Close()
			return sink.Send(t.Context(), []outbox.Record{sinktest.Record(1, "k")})[0]
		})
	})
	t.Run("source", func(t *testing.T) {
		certs.OverTLS(t, func(t *testing.T, parameters string) error {
			t.Helper()
			cfg, err := FromURL("nats://"+s.Addr().String()+"/S?consumer=c&"+parameters, nil)
			if err != nil {
				t.Fatal(err)
			}
			source, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer source.Close()
			if _, err := source.Open(t.Context()); err != nil {
				return err
			}
			return source.Done(t.Context(), receive(t, source))
		})
	})
}
