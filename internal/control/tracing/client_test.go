package tracing

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// upload sends nothing much to a collector that answers so.
func upload(t *testing.T, cfg Config, answer http.HandlerFunc) error {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	cfg.Endpoint = server.URL
	c, err := newClient(cfg.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	return c.UploadTraces(t.Context(), []*otlp.ResourceSpans{{}})
}

// What a collector does not take is an error that says how much and why.
func TestWhatACollectorRejects(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer *collector.ExportTracePartialSuccess
		want   string // "": no error
	}{
		{"nothing", nil, ""},
		{"an empty note", &collector.ExportTracePartialSuccess{}, ""},
		{"some", &collector.ExportTracePartialSuccess{RejectedSpans: 3, ErrorMessage: "too old"}, `the collector rejected 3 spans: "too old"`},
		{"a warning", &collector.ExportTracePartialSuccess{ErrorMessage: "slow down"}, `the collector rejected 0 spans: "slow down"`},
		{"many", &collector.ExportTracePartialSuccess{RejectedSpans: 1 << 40}, "the collector rejected 1099511627776 spans"},
	} {
		err := upload(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
			text, err := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: c.answer})
			if err != nil {
				panic(err)
			}
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write(text)
		})
		if c.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"is not OTLP": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write([]byte{0x0a, 0xff})
		},
		"413 Request": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "too much", http.StatusRequestEntityTooLarge)
		},
		`: "too much\n"`: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "too much", http.StatusServiceUnavailable) },
	} {
		if err := upload(t, Config{}, answer); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
}

func TestHeadersOfTheEnvironment(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue%20one, api-key = a=b ,")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-team=red")
	if err := upload(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Team") != "red" || r.Header.Get("Api-Key") != "a=b" {
			http.Error(w, "wrong headers", http.StatusBadRequest)
		}
	}); err != nil {
		t.Error(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=%zz-secret")
	_, err := newClient(Config{Endpoint: "http://127.0.0.1:1"})
	if err == nil || !strings.Contains(err.Error(), `OTEL_EXPORTER_OTLP_HEADERS: header "api-key"`) || strings.Contains(err.Error(), "secret") {
		t.Errorf("a value that cannot be read: %v", err)
	}
}
