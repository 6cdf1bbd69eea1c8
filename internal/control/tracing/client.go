package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"golang.org/x/net/http/httpguts"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// client sends spans by OTLP over HTTP. OpenTelemetry's own client links gRPC as well. The queue handles failures, so that
// the client does not retry.
type client struct {
	endpoint string
	headers  map[string]string
	http     *http.Client
	idle     *http.Transport // closed at the end
}

var _ otlptrace.Client = (*client)(nil)

// maxAnswer is the most bytes that are read of an answer.
const maxAnswer = 64 << 10

func newClient(cfg Config) (*client, error) {
	u, err := url.Parse(cfg.Endpoint)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller says of what
	}
	c := &client{headers: environmentHeaders(cfg)}
	if slices.Contains(variables("PROTOCOL"), "http/json") {
		cfg.Log.Warn("spans are sent as http/protobuf: OTEL_EXPORTER_OTLP_PROTOCOL says http/json, which Bezoar does not write")
	}
	if u.User != nil {
		password, _ := u.User.Password()
		basic := base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))
		c.headers = map[string]string{"Authorization": "Basic " + basic}
		u.User = nil
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	secure := environmentTLS(cfg)
	if secure != nil && u.Scheme == "http" {
		return nil, errors.New("the environment names certificates for the collector, whose endpoint is not https")
	}
	c.endpoint = u.String()
	c.idle = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSClientConfig: secure, IdleConnTimeout: 2 * lastPause, TLSHandshakeTimeout: cfg.Timeout}
	c.http = &http.Client{Transport: c.idle, Timeout: cfg.Timeout}
	return c, nil
}

// Start implements [otlptrace.Client].
func (*client) Start(context.Context) error { return nil }

// Stop implements [otlptrace.Client].
func (c *client) Stop(context.Context) error {
	c.idle.CloseIdleConnections()
	return nil
}

// UploadTraces implements [otlptrace.Client].
func (c *client) UploadTraces(ctx context.Context, spans []*otlp.ResourceSpans) error {
	// The request of the protocol has the form of TracesData.
	body, err := proto.Marshal(&otlp.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err = z.Write(body); err == nil {
		err = z.Close()
	}
	if err != nil {
		return fmt.Errorf("compress spans: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, &packed)
	if err != nil {
		return fmt.Errorf("send spans: %w", err)
	}
	req.Header.Set("User-Agent", "OTel OTLP Exporter Go/"+otlptrace.Version())
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("Content-Encoding", "gzip")
	res, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("send spans: %w", err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch {
	case err != nil:
		return fmt.Errorf("read the collector's answer: %w", err)
	case res.StatusCode < 200 || res.StatusCode > 299:
		return fmt.Errorf("send spans to %s: %s: %.500s", c.endpoint, res.Status, strings.TrimSpace(string(answer)))
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "application/x-protobuf" {
		return rejected(answer)
	}
	return nil
}

// rejected returns an error if an answer says that the collector did not accept all spans. An answer has one field,
// partial_success, with the fields rejected_spans and error_message.
func rejected(answer []byte) error {
	var count uint64
	var why string
	fields(answer, func(n protowire.Number, partial []byte, _ uint64) {
		if n == 1 {
			fields(partial, func(n protowire.Number, text []byte, number uint64) {
				switch n {
				case 1:
					count = number
				case 2:
					why = string(text)
				}
			})
		}
	})
	if count == 0 && why == "" {
		return nil
	}
	return fmt.Errorf("the collector rejected %d spans: %.500s", count, why)
}

// fields calls f with each field of a message, until one cannot be read.
func fields(message []byte, f func(n protowire.Number, text []byte, number uint64)) {
	for len(message) > 0 {
		n, kind, used := protowire.ConsumeTag(message)
		if used < 0 {
			return
		}
		message = message[used:]
		var text []byte
		var number uint64
		switch kind {
		case protowire.BytesType:
			text, used = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			number, used = protowire.ConsumeVarint(message)
		case protowire.Fixed32Type, protowire.Fixed64Type, protowire.StartGroupType, protowire.EndGroupType:
			used = protowire.ConsumeFieldValue(n, kind, message)
		}
		if used < 0 {
			return
		}
		message = message[used:]
		f(n, text, number)
	}
}

// variables returns the values of some of OpenTelemetry's variables: those for traces, or those for all signals if one of the
// former is not set.
func variables(names ...string) []string {
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"} {
		var values []string
		for _, name := range names {
			if v := strings.TrimSpace(os.Getenv(prefix + name)); v != "" {
				values = append(values, v)
			}
		}
		if len(values) == len(names) {
			return values
		}
	}
	return nil
}

func environmentHeaders(cfg Config) map[string]string {
	headers := map[string]string{}
	for _, text := range variables("HEADERS") {
		for pair := range strings.SplitSeq(text, ",") {
			name, value, ok := strings.Cut(pair, "=")
			name = strings.TrimSpace(name)
			value, err := url.PathUnescape(value)
			if !ok || err != nil || !httpguts.ValidHeaderFieldName(name) {
				cfg.Log.Warn("a header for the trace collector is not NAME=VALUE", "name", name)
				continue
			}
			headers[name] = strings.TrimSpace(value)
		}
	}
	return headers
}

// environmentTLS returns nil if the environment names no certificates that can be read.
func environmentTLS(cfg Config) *tls.Config {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	for _, file := range variables("CERTIFICATE") {
		roots := x509.NewCertPool()
		if text, err := os.ReadFile(file); err != nil { //nolint:gosec // the operator names it
			cfg.Log.Warn("reading the trace collector's certificate failed", "err", err)
		} else if roots.AppendCertsFromPEM(text) {
			out.RootCAs = roots
		} else {
			cfg.Log.Warn("the file of the trace collector's certificate has none", "file", file)
		}
	}
	if files := variables("CLIENT_CERTIFICATE", "CLIENT_KEY"); files != nil {
		if pair, err := tls.LoadX509KeyPair(files[0], files[1]); err != nil {
			cfg.Log.Warn("reading the certificate for the trace collector failed", "err", err)
		} else {
			out.Certificates = []tls.Certificate{pair}
		}
	}
	if out.RootCAs == nil && out.Certificates == nil {
		return nil
	}
	return out
}
