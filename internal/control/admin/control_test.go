package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// steeringStub is Steering that notes what it was asked for.
type steeringStub struct {
	mu   sync.Mutex
	did  []string
	fail error
}

func (h *steeringStub) note(format string, args ...any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.did = append(h.did, fmt.Sprintf(format, args...))
	return h.fail
}

func (h *steeringStub) Status() live.Status {
	return live.Status{Node: "web-1", Running: live.Version{Number: 7}}
}

func (h *steeringStub) Put(_ context.Context, who Who, in adminapi.PutSettings) (adminapi.Changed, error) {
	base := int64(-1)
	if in.Base != nil {
		base = *in.Base
	}
	err := h.note("put %d bytes on %d by %s: %s", len(in.Text), base, who.Name, in.Note)
	return adminapi.Changed{Version: live.Version{Number: 8}, Before: 7, New: true}, err
}

func (h *steeringStub) Try(_ context.Context, in adminapi.PutSettings) (adminapi.Tried, error) {
	return adminapi.Tried{Before: int64(len(in.Text)), New: true, Diff: "+x\n"}, h.fail
}

func (h *steeringStub) Rollback(_ context.Context, who Who, to int64) (adminapi.Changed, error) {
	return adminapi.Changed{Version: live.Version{Number: 9}}, h.note("rollback to %d by %s", to, who.Name)
}

func (h *steeringStub) Versions(_ context.Context, limit int) ([]live.Version, error) {
	return []live.Version{{Number: int64(limit)}}, h.fail
}

func (h *steeringStub) Version(_ context.Context, number int64) (live.Version, error) {
	return live.Version{Number: number, Text: []byte("a: \xff")}, h.fail
}

func (h *steeringStub) Diff(_ context.Context, from, to int64) (adminapi.Diff, error) {
	return adminapi.Diff{From: from, To: to, Text: "+x\n"}, h.fail
}

func (h *steeringStub) Compare(_ context.Context, in adminapi.Compare) (adminapi.Diff, error) {
	return adminapi.Diff{From: in.From, Text: "+" + string(in.Text)}, h.fail
}

func (h *steeringStub) GuardLimits(_ context.Context, route string) (adminapi.GuardLimits, error) {
	return adminapi.GuardLimits{Route: route, Version: 7, Text: []byte("dial: 1")}, h.fail
}

func (h *steeringStub) PutGuardLimits(_ context.Context, who Who, route string, in adminapi.PutGuardLimits) (adminapi.Changed, error) {
	return adminapi.Changed{Version: live.Version{Number: 8}}, h.note("limit %s to %s by %s", route, in.Text, who.Name)
}

func (h *steeringStub) Override(_ context.Context, who Who, in adminapi.SetOverride) (live.Override, error) {
	err := h.note("%s × %g for %s for %v by %s", in.What, in.Factor, in.Caller, time.Duration(in.For), who.Name)
	return live.Override{ID: "ov-1", What: in.What}, err
}

func (h *steeringStub) Lift(_ context.Context, who Who, id string) error {
	return h.note("lift %s by %s", id, who.Name)
}

func (h *steeringStub) Breakers() []circuit.Status {
	return []circuit.Status{{Name: "search /search/*", State: breaker.Open, Counts: breaker.Counts{Calls: 9}}}
}

func (h *steeringStub) Force(_ context.Context, who Who, name string, in adminapi.ForceBreaker) (circuit.Status, error) {
	return circuit.Status{Name: name, State: in.State}, h.note("force %s %s for %v by %s", name, in.State, time.Duration(in.For), who.Name)
}

func TestSteeringThroughTheClient(t *testing.T) {
	h := new(steeringStub)
	_, base := start(t, Config{Steering: h, Health: func() any { return map[string]string{"state": "ok"} }}, newBackendStub(), new(Hub))
	c, err := adminapi.New(adminapi.Config{Address: base, Actor: "ann from \x1bdesk"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, seven := t.Context(), int64(7)

	if st, err := c.Settings(ctx); err != nil || st.Running.Number != 7 {
		t.Errorf("Settings = %+v, %v", st, err)
	}
	if d, err := c.PutSettings(ctx, adminapi.PutSettings{Text: bytes.Repeat([]byte{'\xff'}, live.MaxText), Note: "n", Base: &seven}); err != nil || d.Version.Number != 8 || !d.New {
		t.Errorf("PutSettings = %+v, %v", d, err)
	}
	if d, err := c.TrySettings(ctx, adminapi.PutSettings{Text: []byte("text")}); err != nil || d.Before != 4 || !d.New || d.Diff != "+x\n" {
		t.Errorf("TrySettings = %+v, %v", d, err)
	}
	if _, err := c.TrySettings(ctx, adminapi.PutSettings{Text: make([]byte, live.MaxText+1)}); err == nil {
		t.Error("too long a text is sent to be tried")
	}
	if _, err := c.PutSettings(ctx, adminapi.PutSettings{Text: make([]byte, live.MaxText+1)}); err == nil {
		t.Error("a text that is too large is sent")
	}
	if d, err := c.Rollback(ctx, 3); err != nil || d.Version.Number != 9 {
		t.Errorf("Rollback = %+v, %v", d, err)
	}
	if vs, err := c.Versions(ctx, 5); err != nil || len(vs) != 1 || vs[0].Number != 5 {
		t.Errorf("Versions = %+v, %v", vs, err)
	}
	for _, n := range []int64{0, 4} {
		if v, err := c.Version(ctx, n); err != nil || v.Number != n || string(v.Text) != "a: \xff" {
			t.Errorf("Version(%d) = %+v, %v", n, v, err)
		}
	}
	if d, err := c.Diff(ctx, 2, 0); err != nil || d.From != 2 || d.To != 0 || d.Text != "+x\n" {
		t.Errorf("Diff = %+v, %v", d, err)
	}
	if o, err := c.SetOverride(ctx, adminapi.SetOverride{Caller: "acme", What: live.Rate, Factor: 0.1, For: adminapi.Duration(time.Hour)}); err != nil || o.ID != "ov-1" {
		t.Errorf("SetOverride = %+v, %v", o, err)
	}
	if os, err := c.Overrides(ctx); err != nil || os == nil {
		t.Errorf("Overrides = %v, %v", os, err)
	}
	if err := c.LiftOverride(ctx, "ov-1"); err != nil {
		t.Errorf("LiftOverride = %v", err)
	}
	if bs, err := c.Breakers(ctx); err != nil || len(bs) != 1 || bs[0].State != breaker.Open || bs[0].Counts.Calls != 9 {
		t.Errorf("Breakers = %+v, %v", bs, err)
	}
	if b, err := c.ForceBreaker(ctx, "search /a%2f/..#1", adminapi.ForceBreaker{State: breaker.Open, For: adminapi.Duration(time.Minute)}); err != nil || b.Name != "search /a%2f/..#1" {
		t.Errorf("ForceBreaker = %+v, %v", b, err)
	}
	if _, err := c.ResetBreaker(ctx, "search /search/*"); err != nil {
		t.Errorf("ResetBreaker = %v", err)
	}
	if r, err := c.Health(ctx); err != nil || !json.Valid(r) || !strings.Contains(string(r), `"ok"`) {
		t.Errorf("Health = %s, %v", r, err)
	}
	want := []string{
		"put 1048576 bytes on 7 by ann from desk: n", "rollback to 3 by ann from desk", "rate × 0.1 for acme for 1h0m0s by ann from desk",
		"lift ov-1 by ann from desk", "force search /a%2f/..#1 open for 1m0s by ann from desk", "force search /search/* closed for 0s by ann from desk",
	}
	if !slices.Equal(h.did, want) {
		t.Errorf("did\n%q, want\n%q", h.did, want)
	}
}

func TestSteeringRefusals(t *testing.T) {
	h := new(steeringStub)
	s, err := New(Config{Address: "127.0.0.1:7070", Steering: h}, newBackendStub(), new(Hub))
	if err != nil {
		t.Fatal(err)
	}
	big := `{"text":"` + strings.Repeat("AAAA", live.MaxText/3+1) + `"}`
	for _, tt := range []struct {
		method, target, body string
		status               int
		detail               string
	}{
		{"PUT", "/api/v1/settings", big, 413, "more than 1048576"},
		{"PUT", "/api/v1/settings", `{"text":"` + strings.Repeat("A", maxBody) + `"}`, 413, "bytes"},
		{"PUT", "/api/v1/settings", `{"text":"YTog","base":-1}`, 400, "base -1 is negative"},
		{"PUT", "/api/v1/settings", `{"text":"a: 1"}`, 400, "base64"},
		{"POST", "/api/v1/settings/rollback", `{"to":-1}`, 400, "to -1 is negative"},
		{"GET", "/api/v1/settings?x=1", "", 400, "unknown parameter"},
		{"GET", "/api/v1/settings/versions?limit=102", "", 400, "from 1 to 101"},
		{"GET", "/api/v1/settings/versions/0", "", 400, "not a number from 1 and not newest"},
		{"GET", "/api/v1/settings/versions/x", "", 400, "not a number from 1 and not newest"},
		{"GET", "/api/v1/settings/diff?from=0", "", 400, "from 1"},
		{"GET", "/api/v1/settings/diff?to=x", "", 400, "from 1"},
		{"POST", "/api/v1/overrides", `{"what":"rate","factor":0.1}`, 400, "for 0s is not between"},
		{"POST", "/api/v1/overrides", `{"what":"rate","for":"1000h"}`, 400, "is not between 1s and 720h0m0s"},
		{"PUT", "/api/v1/breakers/a/override", `{"state":"half-open","for":"1m"}`, 400, "not open or closed"},
		{"PUT", "/api/v1/breakers/a/override", `{"state":"ajar","for":"1m"}`, 400, "ajar"},
		{"PUT", "/api/v1/breakers/a/override", `{"state":"open"}`, 400, "for 0s is not between"},
		{"GET", "/api/v1/health", "", 404, "no GET"},
	} {
		r := httptest.NewRequest(tt.method, "http://127.0.0.1:7070"+tt.target, strings.NewReader(tt.body))
		if tt.body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.detail) {
			t.Errorf("%s %s %.60s = %d %s, want %d with %q", tt.method, tt.target, tt.body, w.Code, w.Body, tt.status, tt.detail)
		}
	}
	if len(h.did) != 0 {
		t.Errorf("did %q all the same", h.did)
	}
}

func TestErrorsOfSteering(t *testing.T) {
	faults := &config.Faults{List: []config.Fault{{File: "settings", Line: 3, Column: 5, Path: "fleets.a", Problem: "is odd", Fix: "mend it"}}, More: 2}
	for _, tt := range []struct {
		err    error
		status int
		code   string
		detail string
	}{
		{fmt.Errorf("put settings: %w", &live.InvalidError{What: "the new text", Err: faults}), 422, adminapi.CodeInvalidSettings, "the new text is invalid: 3 faults"},
		{&live.InvalidError{What: "the new text", Err: errors.New("it is empty")}, 422, adminapi.CodeInvalidSettings, "it is empty"},
		{fmt.Errorf("put: %w: number 9 by bob, not 7", live.ErrConflict), 409, adminapi.CodeConflict, "number 9 by bob"},
		{fmt.Errorf("version 3: %w", live.ErrNotFound), 404, adminapi.CodeNotFound, "version 3"},
		{fmt.Errorf("override: %w", live.ErrFull), 409, adminapi.CodeFull, "too many overrides"},
		{fmt.Errorf("force x: %w", circuit.ErrUnknown), 404, adminapi.CodeNotFound, "no such circuit breaker"},
		{errors.New("postgres://secret"), 500, adminapi.CodeInternal, "see the log"},
	} {
		_, base := start(t, Config{Steering: &steeringStub{fail: tt.err}}, newBackendStub(), new(Hub))
		c, err := adminapi.New(adminapi.Config{Address: base})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.PutSettings(t.Context(), adminapi.PutSettings{Text: []byte("a")})
		c.Close()
		var p *adminapi.Problem
		if !errors.As(err, &p) || p.Status != tt.status || p.Code != tt.code || !strings.Contains(p.Detail, tt.detail) || strings.Contains(p.Detail, "secret") {
			t.Errorf("%v = %+v, want %d %s with %q", tt.err, p, tt.status, tt.code, tt.detail)
			continue
		}
		if tt.code == adminapi.CodeInvalidSettings && strings.Contains(tt.detail, "3 faults") && (len(p.Faults) != 1 || p.More != 2 || p.Faults[0].Line != 3 || p.Faults[0].Fix != "mend it") {
			t.Errorf("the faults were lost: %+v", p)
		}
	}
}

func TestFixedSettingsLeaveTheBreakers(t *testing.T) {
	h := new(steeringStub)
	_, base := start(t, Config{Steering: h, Fixed: true}, newBackendStub(), new(Hub))
	c, err := adminapi.New(adminapi.Config{Address: base})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, settings := c.Settings(t.Context())
	_, put := c.PutSettings(t.Context(), adminapi.PutSettings{Text: []byte("a")})
	_, limits := c.GuardLimits(t.Context(), "r")
	for what, err := range map[string]error{"settings": settings, "a change": put, "limits": limits, "lift": c.LiftOverride(t.Context(), "ov-1")} {
		if p, ok := errors.AsType[*adminapi.Problem](err); !ok || p.Status != http.StatusNotFound || p.Code != adminapi.CodeFixed {
			t.Errorf("%s: %v", what, err)
		}
	}
	if all, err := c.Breakers(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("breakers: %+v, %v", all, err)
	}
	if len(h.did) != 0 {
		t.Errorf("did %q all the same", h.did)
	}
}
