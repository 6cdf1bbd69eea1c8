package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// A pill in a trailer is no copy of requests that are the same but for it, nor of those that
// have the field in their head.
func TestTrailersArePartOfTheVariant(t *testing.T) {
	seen := map[bezoar.Fingerprint]string{}
	for _, sent := range []string{
		"PUT / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n1\na\n0\n\n",
		"PUT / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\nX-Theme: neon\n\n1\na\n0\n\n",
		"PUT / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n1\na\n0\nX-Theme: neon\n\n",
		"PUT / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n1\na\n0\nX-Theme: dark\n\n",
	} {
		w := startWorker(t, answering(hello))
		d := newDirect(t, w.addr)
		f := serve(t, Route{Doer: d}, Config{}, ServerConfig{})
		c := dial(t, f.addr)
		c.send(sent)
		c.answer("PUT")
		v := d.variant()
		if other, ok := seen[v]; ok {
			t.Errorf("one variant are\n%s\nand\n%s", other, sent)
		}
		seen[v] = sent
	}
}

// What is run again has the trailers that it came with, apart from secrets: without
// them another variant would run, and clear the one that killed.
func TestTrailersAreRunAgain(t *testing.T) {
	for _, tc := range []struct {
		trailer string
		whole   bool
	}{{"X-Theme", true}, {"X-Api-Key", false}} {
		w := startWorker(t, answering(hello))
		d := newDirect(t, w.addr)
		f := serve(t, Route{Name: "r", Doer: d}, Config{}, ServerConfig{})
		original := jobFor(t, f.g, "PUT / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\nhello")
		original.body.trailers = []h1.Field{{Name: tc.trailer, Value: "neon"}}
		work := original.work()
		letter := bezoar.Letter{ID: "dl-1", Route: "r", Fingerprint: work.Fingerprint, Variant: work.Traits.Variant(), Shape: work.Shape, Request: original.Keep()}
		original.end()
		got, err := f.g.Redrive(t.Context(), letter)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != 200 || string(got.Body) != "hello" {
			t.Errorf("%s: %+v", tc.trailer, got)
		}
		if sent := strings.Contains(w.raw(), "\r\n0\r\n"+tc.trailer+": neon\r\n"); sent != tc.whole {
			t.Errorf("%s: it was sent: %v, in\n%s", tc.trailer, sent, w.raw())
		}
		if (len(got.Missing) == 0) != tc.whole {
			t.Errorf("%s: missing are %q", tc.trailer, got.Missing)
		}
		if same := d.variant() == letter.Variant; same != tc.whole {
			t.Errorf("%s: it is the variant of the letter: %v", tc.trailer, same)
		}
		letter.Request.Trailer = map[string][]string{"X-Theme": {"a\r\nX-Other: b"}}
		if _, err := f.g.Redrive(t.Context(), letter); err == nil || !strings.Contains(err.Error(), "not allowed") {
			t.Errorf("a trailer of two lines gave %v", err)
		}
	}
}

// What an attempt has of its own stands in its head, also where the body goes in chunks.
func TestChunksOfAnAttemptThatHasFieldsOfItsOwn(t *testing.T) {
	for name, tc := range map[string]struct {
		sent, want string // want is the body that the worker reads
		replayed   bool
	}{
		"held, with a trailer":  {"5\nhello\n0\nX-Theme: dark\n\n", "hello", true},
		"empty, with a trailer": {"0\nX-Theme: dark\n\n", "", true},
		"more than is held":     {"5\nhello\n6\n world\n0\n\n", "hello world", false},
	} {
		bodies := make(chan string, 2)
		w := startWorker(t, func(c *workerConn) {
			for {
				r, body := c.request()
				if r == nil {
					return
				}
				bodies <- body
				if r.Header.Get("X-Bezoar-Attempt") == "" && tc.replayed {
					return // breaks off
				}
				c.send(hello)
			}
		})
		f := serve(t, Route{Doer: realDoer(t, w.addr), Buffer: 8}, Config{}, ServerConfig{})
		c := dial(t, f.addr)
		c.send("PUT / HTTP/1.1\nHost: h\nX-Request-Timeout: 20\nTransfer-Encoding: chunked\n\n" + tc.sent)
		if resp, body := c.answer("PUT"); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %s", name, resp.Status, body)
		}
		attempts := strings.Split(w.raw(), "PUT / ")[1:]
		if tc.replayed != (len(attempts) == 2) {
			t.Errorf("%s: %d attempts", name, len(attempts))
		}
		for i, sent := range attempts {
			select {
			case body := <-bodies:
				if body != tc.want {
					t.Errorf("%s: the worker read %q, want %q", name, body, tc.want)
				}
			default:
				t.Errorf("%s: the worker could not read a body", name)
			}
			head, _, _ := strings.Cut(sent, "\r\n\r\n")
			if !strings.Contains(head, "\r\nX-Request-Timeout: ") || strings.Contains(head, "\r\nX-Bezoar-Attempt: 2") != (i == 1) {
				t.Errorf("%s: the worker got\n%s", name, sent)
			}
		}
	}
}
