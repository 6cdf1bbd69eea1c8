package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// maxAnswer bounds what is read of a collector's answer.
const maxAnswer = 64 << 10

// client sends spans over OTLP/HTTP. The exporter of OpenTelemetry would do it as
// well, but links gRPC and its own HTTP server's pages: 2 MB in every binary.
type client struct {
	url    string
	header http.Header
	http   *http.Client
}

// newClient takes user and password of the endpoint for basic authentication, and
// headers from the variables that OpenTelemetry defines.
func newClient(cfg Config) (*client, error) {
	u, err := url.Parse(cfg.Endpoint)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/x-protobuf"}, "Content-Encoding": {"gzip"}, "User-Agent": {"bezoar/" + cfg.Version}}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} { // the second wins
		if err := addHeaders(header, os.Getenv(name)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		basic := http.Request{Header: header}
		basic.SetBasicAuth(u.User.Username(), password)
		u.User = nil
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	return &client{url: u.String(), header: header, http: &http.Client{
		Timeout:   cfg.Timeout,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConns: 2, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true},
	}}, nil
}

// addHeaders reads name=value pairs with commas between them, values escaped as in
// URLs. Errors do not show values, which are credentials.
func addHeaders(h http.Header, pairs string) error {
	for pair := range strings.SplitSeq(pairs, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || err != nil {
			return fmt.Errorf("header %.40q: want NAME=VALUE pairs with commas between them, values escaped as in URLs", name)
		}
		h.Set(name, value)
	}
	return nil
}

// Start implements [otlptrace.Client].
func (*client) Start(context.Context) error { return nil }

// Stop implements [otlptrace.Client].
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements [otlptrace.Client] with one call and no repetition: the
// queue knows better when.
func (c *client) UploadTraces(ctx context.Context, spans []*otlp.ResourceSpans) error {
	body, err := packed(&otlp.TracesData{ResourceSpans: spans}) // on the wire the same as the request of the service
	if err != nil {
		return fmt.Errorf("pack spans: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, body)
	if err != nil {
		return err
	}
	req.Header = c.header
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case resp.StatusCode/100 != 2:
		return fmt.Errorf("send spans to %s: %s: %.200q", c.url, resp.Status, answer)
	case err != nil:
		return fmt.Errorf("read the answer of %s: %w", c.url, err)
	case resp.Header.Get("Content-Type") == "application/x-protobuf":
		return partial(answer)
	}
	return nil
}

func packed(m proto.Message) (*bytes.Buffer, error) {
	text, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	return &out, z.Close()
}

// partial is the error of an ExportTraceServiceResponse whose partial_success (1) has
// rejected_spans (1) or an error_message (2).
func partial(answer []byte) error {
	success, err := field(answer, 1, protowire.BytesType)
	if err != nil || success == nil {
		return err
	}
	text, err := field(success, 2, protowire.BytesType)
	if err != nil {
		return err
	}
	count, err := field(success, 1, protowire.VarintType)
	if err != nil {
		return err
	}
	rejected, _ := protowire.ConsumeVarint(count) // 0 if there is none
	if rejected == 0 && len(text) == 0 {
		return nil
	}
	return fmt.Errorf("the collector rejected %d spans: %.200q", rejected, text)
}

// field returns the last value of a field in a message; nil if there is none.
func field(message []byte, wanted protowire.Number, kind protowire.Type) (value []byte, err error) {
	for len(message) > 0 {
		n, t, taken := protowire.ConsumeTag(message)
		if taken < 0 {
			return nil, errors.New("the collector's answer is not OTLP")
		}
		message = message[taken:]
		size := protowire.ConsumeFieldValue(n, t, message)
		if size < 0 {
			return nil, errors.New("the collector's answer is not OTLP")
		}
		if n == wanted && t == kind {
			if value = message[:size]; t == protowire.BytesType {
				value, _ = protowire.ConsumeBytes(value)
			}
		}
		message = message[size:]
	}
	return value, nil
}
