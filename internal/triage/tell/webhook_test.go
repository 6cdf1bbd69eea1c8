package tell

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A listener that hangs, or hangs up, costs a bounded time, and its URL is not
// in the error.
func TestAWebhookThatHangsIsLeft(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	a := New(Config{})
	a.client.Timeout = 20 * time.Millisecond
	again, err := a.postOnce(t.Context(), Webhook{URL: server.URL + "/secret"}, "e1", nil)
	if err == nil || !again || strings.Contains(err.Error(), "secret") {
		t.Errorf("a listener that hangs: %v, again %v", err, again)
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	again, err = a.postOnce(t.Context(), Webhook{URL: gone.URL + "/secret"}, "e1", nil)
	if err == nil || !again || strings.Contains(err.Error(), "secret") {
		t.Errorf("a listener that is gone: %v, again %v", err, again)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if again, err = a.postOnce(ctx, Webhook{URL: server.URL}, "e1", nil); err == nil || again {
		t.Errorf("after the end: %v, again %v", err, again)
	}
}
