package adminapi

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestEvents(t *testing.T) {
	stream := ": hello\n\nevent: x\nid: 1\ndata: {\"seq\":1,\"kind\":\"worker.down\",\ndata: \"text\":\"a\"}\n\n" +
		"data:{\"seq\":2,\"kind\":\"verdict\",\"class\":\"oom\"}\n\n"
	c, got := serve(t, 200, "text/event-stream", stream)
	var kinds []string
	err := c.Events(t.Context(), func(e Event) bool {
		kinds = append(kinds, e.Kind+e.Text)
		return true
	})
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a stream that ends gave %v", err)
	}
	if strings.Join(kinds, " ") != "worker.downa verdict" || got.URI != PathEvents {
		t.Errorf("got %q from %s", kinds, got.URI)
	}
	c, _ = serve(t, 200, "text/event-stream", stream)
	if err := c.Events(t.Context(), func(Event) bool { return false }); err != nil {
		t.Errorf("a reader that had enough got %v", err)
	}
}

func TestEventsAreBounded(t *testing.T) {
	for name, in := range map[string]string{
		"one long line":   "data: " + strings.Repeat("x", MaxEventBytes+1) + "\n\n",
		"many short ones": strings.Repeat("data: x\n", MaxEventBytes),
		"not JSON":        "data: x\n\n",
	} {
		err := readEvents(strings.NewReader(in), func(Event) bool { return true })
		if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s gave %v", name, err)
		}
	}
}

func FuzzReadEvents(f *testing.F) {
	f.Add("data: {\"seq\":1}\n\n")
	f.Add(": c\n\ndata:{}\ndata:\n\n\n")
	f.Fuzz(func(t *testing.T, in string) {
		_ = readEvents(strings.NewReader(in), func(e Event) bool {
			if _, err := json.Marshal(e); err != nil {
				t.Errorf("decoded an event that does not encode: %v", err)
			}
			return true
		})
	})
}
