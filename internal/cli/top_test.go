package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/test/golden"
)

func sampleTop() adminapi.Top {
	return adminapi.Top{
		By: adminapi.ByCost, Window: adminapi.LastMinute, Since: noon().Add(-63 * time.Second), At: noon(), Total: uint64(90 * time.Second), Error: uint64(120 * time.Millisecond), Names: "clear",
		Callers: []adminapi.TopCaller{
			{Caller: "sk-\x1b[31mowned\u202e\n", Value: uint64(61 * time.Second), Error: 5, Share: 0.678, Also: map[string]uint64{adminapi.ByRequests: 1200, adminapi.ByBytes: 1_234_567, adminapi.ByRefused: 3, adminapi.ByErrors: 0}},
			{Caller: strings.Repeat("é", 30) + "…", Value: uint64(200 * time.Millisecond), Error: uint64(120 * time.Millisecond), Share: 0.002},
		},
	}
}

func TestTopReport(t *testing.T) {
	for name, p := range map[string]*printer{"top": {}, "top-60-colour": {width: func() int { return 60 }, color: true}} {
		var b bytes.Buffer
		p.w = &b
		writeTop(p, sampleTop())
		golden.Equal(t, name+".txt", b.Bytes())
		if strings.ContainsAny(strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(b.String()), "\x1b\u202e") {
			t.Error("a caller's control characters reach the terminal")
		}
	}
	for _, tc := range []struct {
		top  adminapi.Top
		want string
	}{
		{adminapi.Top{By: adminapi.ByErrors, Names: "off"}, "access_log.caller is off"},
		{adminapi.Top{By: adminapi.ByErrors, Names: "hash"}, "there are no callers to list"},
		{adminapi.Top{By: adminapi.ByUnits, Names: "hash", Callers: []adminapi.TopCaller{{Caller: "a", Value: 7}}}, "UNITS"},
	} {
		var b bytes.Buffer
		writeTop(&printer{w: &b}, tc.top)
		if !strings.Contains(b.String(), tc.want) {
			t.Errorf("%+v reads\n%s", tc.top, b.String())
		}
	}
}

func TestTopValues(t *testing.T) {
	for _, tc := range []struct {
		by   string
		v    uint64
		want string
	}{
		{adminapi.ByCost, 0, "0ms"},
		{adminapi.ByCost, uint64(1500 * time.Millisecond), "1.5s"},
		{adminapi.ByCost, uint64(90 * time.Minute), "1.5h"},
		{adminapi.ByCost, 1<<64 - 1, "1281023.9h"},
		{adminapi.ByBytes, 999, "999 B"},
		{adminapi.ByBytes, 999_999, "1.0 MB"},
		{adminapi.ByBytes, 1<<64 - 1, "18.4 EB"},
		{adminapi.ByRequests, 12, "12"},
	} {
		if got := topValue(tc.by, tc.v); got != tc.want {
			t.Errorf("%d by %s reads %s, want %s", tc.v, tc.by, got, tc.want)
		}
	}
}

// With --watch it asks until it is interrupted, here after the third answer.
func TestTopWatches(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked > 3 {
			adminapi.NewProblem(http.StatusForbidden, adminapi.CodeForbidden, "enough").Write(w)
			return
		}
		if r.URL.RawQuery != "by=refused&limit=7&window=10m" {
			t.Errorf("asked %s", r.URL.RawQuery)
		}
		answer(w, sampleTop())
	}))
	defer srv.Close()
	var out, errs bytes.Buffer
	code := Main(t.Context(), Process{
		Args:   []string{"top", "--by", "refused", "--window", "10m", "-n", "7", "-w", "--every", "100ms", "--json", "--admin", srv.Listener.Addr().String()},
		Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" },
	})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if code != exitNotAllowed || len(lines) != 3 {
		t.Fatalf("exit code %d, %d lines\n%s", code, len(lines), errs.String())
	}
	var got adminapi.Top
	if err := json.Unmarshal([]byte(lines[2]), &got); err != nil || got.Callers[0].Value != uint64(61*time.Second) {
		t.Errorf("%v %+v", err, got)
	}
}
