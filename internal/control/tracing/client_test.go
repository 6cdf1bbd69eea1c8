package tracing

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// pemFile writes a PEM block to a file of the test.
func pemFile(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// clientPair returns the files of a certificate that signs itself and of its key.
func clientPair(t *testing.T, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pemFile(t, "cert.pem", "CERTIFICATE", der), pemFile(t, "key.pem", "PRIVATE KEY", secret)
}

// upload sends one span.
func upload(t *testing.T, endpoint string, log *lines) error {
	t.Helper()
	c, err := newClient(Config{Endpoint: endpoint, Log: slog.New(slog.NewTextHandler(log, nil))}.withDefaults())
	if err != nil {
		return err
	}
	defer func() {
		if err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	return c.UploadTraces(t.Context(), []*otlp.ResourceSpans{{ScopeSpans: []*otlp.ScopeSpans{{Spans: []*otlp.Span{{Name: "one"}}}}}})
}

// OpenTelemetry's variables name headers and certificates. Those for traces come first.
func TestTheEnvironmentConfiguresTheClient(t *testing.T) {
	r := &receiver{spans: make(chan *otlp.Span, 10), answer: http.StatusOK}
	seen := make(chan *http.Request, 10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		seen <- req
		r.ServeHTTP(w, req)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	defer server.Close()
	roots := pemFile(t, "roots.pem", "CERTIFICATE", server.Certificate().Raw)
	cert, key := clientPair(t, "all")
	tracesCert, tracesKey := clientPair(t, "traces")
	for _, tt := range []struct {
		name, endpoint string
		set            map[string]string // without OTEL_EXPORTER_OTLP_
		header, client string
		fails, warns   string
	}{
		{name: "an unknown certificate", fails: "certificate signed by unknown authority"},
		{name: "roots", set: map[string]string{"CERTIFICATE": roots}},
		{name: "roots for traces", set: map[string]string{"CERTIFICATE": cert, "TRACES_CERTIFICATE": roots}},
		{name: "headers", set: map[string]string{"CERTIFICATE": roots, "HEADERS": "X-A= a%20b ,X-B=c"}, header: "a b"},
		{name: "headers for traces", set: map[string]string{"CERTIFICATE": roots, "HEADERS": "X-A=all", "TRACES_HEADERS": "X-A=traces"}, header: "traces"},
		{name: "the endpoint's user replaces headers", endpoint: "user:word@", set: map[string]string{"CERTIFICATE": roots, "HEADERS": "X-A=a"}},
		{name: "wrong headers", set: map[string]string{"CERTIFICATE": roots, "HEADERS": "X-A=a,nothing,sp ace=x,X-C=%zz"}, header: "a", warns: "name=nothing"},
		{name: "a client's certificate", set: map[string]string{"CERTIFICATE": roots, "CLIENT_CERTIFICATE": cert, "CLIENT_KEY": key}, client: "all"},
		{name: "one for traces", set: map[string]string{
			"CERTIFICATE": roots, "CLIENT_CERTIFICATE": cert, "CLIENT_KEY": key, "TRACES_CLIENT_CERTIFICATE": tracesCert, "TRACES_CLIENT_KEY": tracesKey,
		}, client: "traces"},
		{name: "one without its key", set: map[string]string{
			"CERTIFICATE": roots, "CLIENT_CERTIFICATE": cert, "CLIENT_KEY": key, "TRACES_CLIENT_CERTIFICATE": tracesCert,
		}, client: "all"},
		{name: "a wrong key", set: map[string]string{"CERTIFICATE": roots, "CLIENT_CERTIFICATE": cert, "CLIENT_KEY": tracesKey}, warns: "reading the certificate for the trace collector failed"},
		{name: "no such file", set: map[string]string{"CERTIFICATE": roots + "x"}, fails: "unknown authority", warns: "reading the trace collector's certificate failed"},
		{name: "no certificate", set: map[string]string{"CERTIFICATE": key}, fails: "unknown authority", warns: "has none"},
		{name: "JSON", set: map[string]string{"CERTIFICATE": roots, "PROTOCOL": "http/json"}, warns: "http/protobuf"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, value := range tt.set {
				t.Setenv("OTEL_EXPORTER_OTLP_"+name, value)
			}
			var log lines
			err := upload(t, strings.Replace(server.URL, "://", "://"+tt.endpoint, 1), &log)
			if (err != nil) != (tt.fails != "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
				t.Fatalf("the error is %v, want %q", err, tt.fails)
			}
			if text := log.String(); (text != "") != (tt.warns != "") || !strings.Contains(text, tt.warns) {
				t.Errorf("the log says %s, want %q", text, tt.warns)
			}
			if err != nil {
				return
			}
			req := <-seen
			client := ""
			if len(req.TLS.PeerCertificates) > 0 {
				client = req.TLS.PeerCertificates[0].Subject.CommonName
			}
			if got := req.Header.Get("X-A"); got != tt.header || client != tt.client || !strings.HasPrefix(req.UserAgent(), "OTel OTLP Exporter Go/") {
				t.Errorf("header %q, client %q, %s", got, client, req.UserAgent())
			}
			if s := <-r.spans; s.GetName() != "one" {
				t.Errorf("the span is %v", s)
			}
		})
	}
	t.Run("certificates without TLS", func(t *testing.T) {
		t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", roots)
		if _, err := New(t.Context(), Config{Endpoint: "http://127.0.0.1:4318"}); err == nil || !strings.Contains(err.Error(), "is not https") {
			t.Errorf("the error is %v", err)
		}
	})
}

// What the collector answers is told: why it refuses, and how many spans it did not take.
func TestAnswersOfTheCollector(t *testing.T) {
	partial := func(n int64, why string) []byte {
		b, err := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: n, ErrorMessage: why}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, tt := range []struct {
		status     int
		kind       string
		body       []byte
		wantsError string
	}{
		{200, "application/x-protobuf", nil, ""},
		{200, "application/x-protobuf", partial(0, ""), ""},
		{200, "application/x-protobuf", partial(7, "too old"), "the collector rejected 7 spans: too old"},
		{200, "application/x-protobuf; charset=x", partial(0, "slow down"), "the collector rejected 0 spans: slow down"},
		{200, "application/x-protobuf", []byte{0xff, 0xff}, ""},
		{202, "text/plain", partial(7, "x"), ""},
		{400, "text/plain", []byte("no such tenant\n"), "400 Bad Request: no such tenant"},
		{503, "", nil, "503 Service Unavailable"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.kind)
			w.WriteHeader(tt.status)
			_, _ = w.Write(tt.body)
		}))
		var log lines
		err := upload(t, server.URL+"/otlp", &log)
		server.Close()
		if (err != nil) != (tt.wantsError != "") || err != nil && !strings.Contains(err.Error(), tt.wantsError) {
			t.Errorf("%d %s %x: %v, want %q", tt.status, tt.kind, tt.body, err, tt.wantsError)
		}
	}
}
