package gateway

import (
	"strings"
	"testing"
)

// TestNothingIsSmuggled sends requests that parsers read in two ways, each with
// a second one hidden in or behind it. The gateway answers once, with a refusal,
// and the worker sees nothing.
func TestNothingIsSmuggled(t *testing.T) {
	const hidden = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
	const post = "POST / HTTP/1.1\r\nHost: h\r\n"
	f, d, w := through(t, answering(hello))
	for name, text := range map[string]string{
		"CL.TE":                  post + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
		"TE.CL":                  post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n24\r\n" + hidden + "\r\n0\r\n\r\n",
		"TE.TE":                  post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: cow\r\n\r\n0\r\n\r\n" + hidden,
		"TE tab":                 post + "Transfer-Encoding:\tchunked, x\r\n\r\n0\r\n\r\n" + hidden,
		"TE VT":                  post + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + hidden,
		"TE space before colon":  post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + hidden,
		"TE folded":              post + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + hidden,
		"TE behind a bare LF":    post + "X: a\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"TE behind a bare CR":    post + "X: a\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"TE with NUL":            post + "Transfer-Encoding: chunked\x00\r\n\r\n0\r\n\r\n" + hidden,
		"TE in HTTP/1.0":         "POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"two CL":                 post + "Content-Length: 0\r\nContent-Length: 35\r\n\r\n" + hidden,
		"two equal CL":           post + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n" + hidden,
		"CL list":                post + "Content-Length: 0, 35\r\n\r\n" + hidden,
		"CL sign":                post + "Content-Length: +35\r\n\r\n" + hidden,
		"CL overflow":            post + "Content-Length: 18446744073709551616\r\n\r\n" + hidden,
		"CL space before colon":  post + "Content-Length : 35\r\n\r\n" + hidden,
		"CL in the first line":   "POST / HTTP/1.1\nContent-Length: 35\r\nHost: h\r\n\r\n" + hidden,
		"bare LF everywhere":     strings.ReplaceAll(post+"\r\n"+hidden, "\r\n", "\n"),
		"two Hosts":              "GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n" + hidden,
		"Host with a line":       "GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n" + hidden,
		"second request in line": "GET / HTTP/1.1 GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n",
		"HTTP/0.9":               "GET /smuggled\r\n" + hidden,
		"CONNECT":                "CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n" + hidden,
	} {
		before, sends := len(w.raw()), d.sends.Load()
		c := dial(t, f.addr)
		c.raw(text)
		resp, _ := c.answer("GET")
		if resp.StatusCode < 400 || resp.StatusCode == 404 || !resp.Close {
			t.Errorf("%s: status %d, close %v", name, resp.StatusCode, resp.Close)
		}
		if rest, _ := c.ends(); rest != "" {
			t.Errorf("%s: a second answer: %q", name, rest)
		}
		if len(w.raw()) != before || d.sends.Load() != sends {
			t.Errorf("%s: the worker got %q", name, w.raw()[before:])
		}
	}
}

// TestMalformedChunksAreNotPassedOn: framing errors that show only in the body
// end the exchange, and the worker cannot take what it got for whole.
func TestMalformedChunksAreNotPassedOn(t *testing.T) {
	f, _, w := through(t, answering(hello))
	const post = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, body := range []string{
		"5\nhello\r\n0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n", "0x5\r\nhello\r\n0\r\n\r\n", "-5\r\nhello\r\n0\r\n\r\n",
		"10000000000000005\r\nhello\r\n0\r\n\r\n", "5\r\nhelloX\r\n0\r\n\r\n", "5\r\nhell\r\n0\r\n\r\n", "5;\x00\r\nhello\r\n0\r\n\r\n",
		"5;" + strings.Repeat("a", 4000) + "\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\nContent-Length: 3\r\n\r\n",
		"5\r\nhello\r\n0\r\n X: folded\r\n\r\n",
	} {
		c := dial(t, f.addr)
		c.raw(post + body)
		if resp, _ := c.answer("POST"); resp.StatusCode != 400 || !resp.Close {
			t.Errorf("%.40q: status %d, close %v", body, resp.StatusCode, resp.Close)
		}
	}
	if raw := w.raw(); raw != "" {
		t.Errorf("the worker got %q", raw)
	}

	// Beyond what is held the worker gets a beginning, but no end.
	c := dial(t, f.addr)
	c.raw(post + "20000\r\n" + strings.Repeat("a", 0x20000) + "X")
	if resp, _ := c.answer("POST"); resp.StatusCode != 400 {
		t.Errorf("status %d", resp.StatusCode)
	}
	if raw := w.settled(); !strings.HasPrefix(raw, "POST / ") || strings.Contains(raw, "\r\n0\r\n") {
		t.Errorf("the worker got an end: …%q", raw[max(0, len(raw)-20):])
	}
}
