package gateway

import (
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// TestManyAnswerFields: an answer with many fields is passed on, up to a bound that
// can be set.
func TestManyAnswerFields(t *testing.T) {
	many := "HTTP/1.1 200 OK\n" + strings.Repeat("X-Many: y\n", 250) + "Content-Length: 5\n\nhello"
	for most, want := range map[int]int{0: 200, 100: 502} {
		w := startWorker(t, answering(many))
		fl, err := fleet.New(fleet.Config{Name: "test", Connect: Upstream{DialTimeout: patience, Fields: most}.Connect})
		if err != nil {
			t.Fatal(err)
		}
		epoch := fl.Up("w", w.addr)
		t.Cleanup(func() { fl.Down("w", epoch, fleet.End{Planned: true}) })
		d := &direct{t: t, worker: fl.TryAcquire(fleet.Want{}), done: make(chan dispatch.Result, 10)}
		c := dial(t, serve(t, Route{Doer: d}, Config{}, ServerConfig{}).addr)
		c.send("GET / HTTP/1.1\nHost: h\n\n")
		resp, _ := c.answer("GET")
		if resp.StatusCode != want || want == 200 && len(resp.Header["X-Many"]) != 250 {
			t.Errorf("at most %d: status %d, %d fields", most, resp.StatusCode, len(resp.Header["X-Many"]))
		}
	}
}
