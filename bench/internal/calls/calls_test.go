package calls

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// listen serves h, or what Server does, and returns where.
func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Server()
	if h != nil {
		s.Handler = h
	}
	t.Cleanup(func() { s.Close() })
	go s.Serve(l)
	return l.Addr().String()
}

func TestEveryCallComesBack(t *testing.T) {
	addr := listen(t, nil)
	for _, kind := range []string{GRPC, WebSocket} {
		f, err := Run(t.Context(), Config{Kind: kind, Addr: addr, Callers: 9, Distinct: 5, Length: time.Minute, Most: 4})
		if err != nil || f.Requests != 9*4 || f.Broken+f.Refused > 0 || f.P50 > f.P99 || f.Micros == 0 {
			t.Errorf("%s: %+v, %v; want 36 answers", kind, f, err)
		}
	}
}

func TestCallsEndWithTheirTime(t *testing.T) {
	f, err := Run(t.Context(), Config{Kind: GRPC, Addr: listen(t, nil), Callers: 1, Length: 20 * time.Millisecond})
	if err != nil || f.Requests == 0 || f.Broken+f.Refused > 0 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestWhatIsNoAnswerIsCounted(t *testing.T) {
	once := Config{Kind: GRPC, Callers: 1, Length: time.Minute, Most: 1}
	refused, broken := Figures{Refused: 1}, Figures{Broken: 1}
	for name, c := range map[string]struct {
		kind string
		h    http.HandlerFunc
		want Figures
		says string
	}{
		"refused": {GRPC, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", grpcType)
			w.Header().Set("Grpc-Status", "14")
		}, refused, `status "14"`},
		"no status": {GRPC, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusOK) }, refused, `status ""`},
		"other message": {GRPC, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "Grpc-Status")
			w.Write(message(7))
			w.Header().Set("Grpc-Status", "0")
		}, broken, "came back"},
		"no upgrade": {WebSocket, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, broken, "403"},
	} {
		cfg := once
		cfg.Kind, cfg.Addr = c.kind, listen(t, c.h)
		f, err := Run(t.Context(), cfg)
		if f.Micros = 0; f != c.want || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v, %v; want %+v, and an error with %s", name, f, err, c.want, c.says)
		}
	}
}

func TestUnknownKind(t *testing.T) {
	if _, err := Run(t.Context(), Config{Kind: "soap"}); err == nil {
		t.Error("calls of an unknown kind were made")
	}
}
