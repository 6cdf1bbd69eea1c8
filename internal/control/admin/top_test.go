package admin

import (
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// The question reaches who counts as it was asked, and the answer the client.
func TestTop(t *testing.T) {
	var asked adminapi.TopQuery
	want := adminapi.Top{
		By: adminapi.ByBytes, Window: adminapi.LastTenMinutes, Total: 10, Error: 1, Names: "clear",
		Callers: []adminapi.TopCaller{{Caller: "<b>\x1b", Value: 7, Error: 1, Share: 0.7, Also: map[string]uint64{adminapi.ByRequests: 3}}},
	}
	s, err := New(Config{Address: "127.0.0.1:7070", Top: func(q adminapi.TopQuery) adminapi.Top { asked = q; return want }}, newBackendStub(), new(Hub))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s.Handler())
	defer srv.Close()
	c, err := adminapi.New(adminapi.Config{Address: srv.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	q := adminapi.TopQuery{By: adminapi.ByBytes, Window: adminapi.LastTenMinutes, Limit: 7}
	got, err := c.Top(t.Context(), q)
	if err != nil || !reflect.DeepEqual(got, want) || asked != q {
		t.Errorf("asked %+v: %+v, %v", asked, got, err)
	}
	for _, q := range []adminapi.TopQuery{{By: "fame"}, {Window: "1h"}, {Limit: 101}, {Limit: -1}} {
		if _, err := c.Top(t.Context(), q); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%+v: %v", q, err)
		}
	}
}
