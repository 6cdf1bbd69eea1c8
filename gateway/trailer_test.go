package gateway

import (
	"testing"

	"github.com/bezoar-dev/bezoar"
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
