package redis

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/brokers/brokertest"
	"github.com/bezoar-dev/bezoar/internal/outbox/sinks/sinktest"
	"github.com/bezoar-dev/bezoar/outbox"
)

// overTLS starts a server that wants TLS, and certificates of its clients.
func overTLS(t *testing.T, certs *brokertest.Certificates) (address string) {
	t.Helper()
	if os.Getenv("BEZOAR_TEST_REDIS") == "" {
		t.Skip("BEZOAR_TEST_REDIS names no server: scripts/redis starts one")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = l.Addr().String()
	_, port, _ := strings.Cut(address, ":")
	_ = l.Close() // the server's now
	var log strings.Builder
	cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", "0", "--tls-port", port, "--tls-cert-file", certs.Cert, "--tls-key-file", certs.Key,
		"--tls-ca-cert-file", certs.CA, "--tls-auth-clients", "yes", "--save", "", "--dir", t.TempDir())
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); ; <-tick.C {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close() // it is there
			return address
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// A server that wants TLS, and certificates of its clients: a sink and a source.
func TestTLS(t *testing.T) {
	t.Parallel()
	certs := brokertest.NewCertificates(t)
	address := overTLS(t, certs)
	n := 0
	certs.OverTLS(t, func(t *testing.T, parameters string) error {
		t.Helper()
		n++
		at := fmt.Sprintf("rediss://%s/s%d?", address, n)
		sink, err := SinkFromURL(at+parameters, sinktest.Source, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer sink.Close()
		sent := sink.Send(t.Context(), []outbox.Record{sinktest.Record(1, "k")})[0]
		cfg, err := FromURL(at+"group=g&"+parameters, nil)
		if err != nil {
			t.Fatal(err)
		}
		source, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		_, err = source.Open(t.Context())
		if (err == nil) != (sent == nil) {
			t.Errorf("the sink says %v, and the source %v", sent, err)
		}
		if err != nil {
			return err
		}
		return source.Done(t.Context(), receive(t, source))
	})
	plain, err := SinkFromURL("redis://"+address+"/s", sinktest.Source, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if err := plain.Send(t.Context(), []outbox.Record{sinktest.Record(1, "k")})[0]; err == nil {
		t.Error("without TLS it is delivered")
	}
}
