package app_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// siege is how long those go on who would never end by themselves: longer than
// the ten seconds that a handshake or a head may take.
const siege = 11 * time.Second

// burst is how long those go on who do it as fast as they can.
const burst = 300 * time.Millisecond

// attack is what a hostile caller does on a connection, and what it may see: a
// status, "closed", or "open" while it goes on.
type attack struct {
	conns int
	proto string // over TLS; "" for none
	do    func(c net.Conn, until time.Time) string
	may   []string
}

// heard says what a connection answers until a time.
func heard(c net.Conn, until time.Time) string {
	_ = c.SetReadDeadline(until)
	res, err := http.ReadResponse(bufio.NewReaderSize(c, 512), nil)
	switch {
	case err == nil:
		return fmt.Sprint(res.StatusCode)
	case isTimeout(err):
		return "open"
	}
	return "closed"
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error) //nolint:errorlint // of a read, as it is
	return ok && e.Timeout()
}

// says sends text and hears.
func says(text string) func(net.Conn, time.Time) string {
	return func(c net.Conn, until time.Time) string {
		_, _ = io.WriteString(c, text)
		return heard(c, until)
	}
}

// drips sends first, and then piece again and again.
func drips(first, piece string, pause time.Duration) func(net.Conn, time.Time) string {
	return func(c net.Conn, until time.Time) string {
		got := make(chan string, 1)
		go func() { got <- heard(c, until) }()
		_, _ = io.WriteString(c, first)
		tick := time.NewTicker(max(pause, time.Microsecond))
		defer tick.Stop()
		for {
			select {
			case how := <-got:
				return how
			case <-tick.C:
			}
			_ = c.SetWriteDeadline(until)
			if _, err := io.WriteString(c, piece); err != nil {
				return <-got
			}
		}
	}
}

// bursts floods for a moment: this machine is the attacker's, too.
func bursts(first, piece string) func(net.Conn, time.Time) string {
	return func(c net.Conn, _ time.Time) string { return floods(first, piece)(c, time.Now().Add(burst)) }
}

// floods sends without reading anything, for as long as it is taken.
func floods(first, piece string) func(net.Conn, time.Time) string {
	return func(c net.Conn, until time.Time) string {
		_ = c.SetWriteDeadline(until)
		_, err := io.WriteString(c, first)
		for err == nil && time.Now().Before(until) {
			_, err = io.WriteString(c, piece)
		}
		if err == nil || isTimeout(err) {
			return "open"
		}
		return "closed"
	}
}

// pipelined sends many requests at once and counts the answers.
func pipelined(n int) func(net.Conn, time.Time) string {
	return func(c net.Conn, _ time.Time) string {
		go func() { _, _ = io.WriteString(c, strings.Repeat("GET /item HTTP/1.1\r\nHost: h\r\n\r\n", n)) }()
		br := bufio.NewReader(c)
		for i := range n {
			res, err := http.ReadResponse(br, nil)
			if err != nil && i == 0 {
				return "closed"
			}
			// A busy machine sheds some of them, and says so.
			if err != nil || res.StatusCode != http.StatusOK && res.StatusCode != http.StatusServiceUnavailable {
				return fmt.Sprintf("answer %d: %v %v", i, res, err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
		}
		return "all"
	}
}

// leaves sends a part of something and goes; half: it only stops sending.
func leaves(text string, half bool) func(net.Conn, time.Time) string {
	return func(c net.Conn, until time.Time) string {
		_, _ = io.WriteString(c, text)
		if w, ok := c.(interface{ CloseWrite() error }); ok && half {
			_ = w.CloseWrite()
			return heard(c, until)
		}
		c.Close()
		return "closed"
	}
}

const (
	plea = "POST /item HTTP/1.1\r\nHost: h\r\n"
	many = 4 << 10
)

// attacks are those on HTTP/1.1, over both wires.
func attacks(proto string) map[string]attack {
	refused := []string{"400", "closed"}
	long := []string{"431", "closed"} // a reset may overtake the answer
	return map[string]attack{
		"slow head":         {30, proto, drips("GET / HTTP/1.1\r\nHost: h\r\n", "X: y\r\n", 200*time.Millisecond), []string{"408", "closed"}},
		"slow body":         {30, proto, drips(plea+"Content-Length: 1000\r\n\r\n", "a", 200*time.Millisecond), []string{"open", "closed"}},
		"slow chunks":       {10, proto, drips(plea+"Transfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n", 200*time.Millisecond), []string{"open", "closed"}},
		"endless line":      {4, proto, drips(plea+"X: ", strings.Repeat("a", many), 0), long},
		"endless fields":    {4, proto, drips(plea, strings.Repeat("X: y\r\n", many/6), 0), long},
		"endless target":    {4, proto, drips("GET /", strings.Repeat("a", many), 0), []string{"414", "431", "closed"}},
		"endless method":    {4, proto, drips("G", strings.Repeat("E", many), 0), []string{"400", "414", "431", "closed"}},
		"endless extension": {4, proto, drips(plea+"Transfer-Encoding: chunked\r\n\r\n1;", strings.Repeat("a", many), 0), refused},
		"endless trailers":  {4, proto, drips(plea+"Transfer-Encoding: chunked\r\n\r\n0\r\n", strings.Repeat("X: y\r\n", many/6), 0), append(long, "400", "413")},
		"many lines":        {4, proto, says("GET / HTTP/1.1\r\nHost: h\r\n" + strings.Repeat("X: y\r\n", 1000) + "\r\n"), long},
		"chunk overflow":    {4, proto, says(plea + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\na"), refused},
		"negative length":   {4, proto, says(plea + "Content-Length: -1\r\n\r\n"), refused},
		"NUL":               {4, proto, says("GET / HTTP/1.1\r\nHost: h\r\nX: a\x00b\r\n\r\n"), refused},
		"garbage":           {4, proto, says(strings.Repeat("\x16\x03\x01\xff", 64)), refused},
		"pipelined, read":   {4, proto, pipelined(100), []string{"all", "closed"}},
		"pipelined, unread": {4, proto, bursts("", strings.Repeat("GET /item HTTP/1.1\r\nHost: h\r\n\r\n", 8)), []string{"open", "closed"}},
		"answers unread":    {8, proto, bursts("", plea+"Content-Length: 262144\r\n\r\n"+strings.Repeat("a", 256<<10)), []string{"open", "closed"}},
		"half a head":       {100, proto, leaves("GET / HTTP/1.1\r\nHo", false), []string{"closed"}},
		"half a body":       {30, proto, leaves(plea+"Content-Length: 1000\r\n\r\nabc", false), []string{"closed"}},
		"stops sending":     {20, proto, leaves("GET /item?slow HTTP/1.1\r\nHost: h\r\n\r\n", true), []string{"200", "closed"}},
		"never reads":       {20, proto, leaves("GET /item?slow HTTP/1.1\r\nHost: h\r\n\r\n", false), []string{"closed"}},
	}
}

// frame is one of HTTP/2.
func frame(kind, flags byte, stream uint32, payload string) string {
	n := len(payload)
	return string([]byte{
		byte(n >> 16), byte(n >> 8), byte(n), kind, flags,
		byte(stream >> 24), byte(stream >> 16), byte(stream >> 8), byte(stream),
	}) + payload
}

// resets opens streams and resets each at once.
func resets(c net.Conn, _ time.Time) string {
	_, err := io.WriteString(c, preface)
	end := time.Now().Add(burst)
	_ = c.SetWriteDeadline(end)
	for id := uint32(1); err == nil && time.Now().Before(end); id += 2 {
		_, err = io.WriteString(c, frame(1, 5, id, getItem)+frame(3, 0, id, "\x00\x00\x00\x08"))
	}
	if err == nil || isTimeout(err) {
		return "open"
	}
	return "closed"
}

// streams opens as many as there may be, with windows without an end, and takes
// nothing.
func streams(c net.Conn, until time.Time) string {
	text := preface + frame(4, 0, 0, "\x00\x04\x7f\xff\xff\xff") + frame(8, 0, 0, "\x7f\x00\x00\x00")
	for id := uint32(1); id < 2*200; id += 2 {
		text += frame(1, 4, id, "\x83"+getItem[1:]) + frame(0, 1, id, strings.Repeat("a", 16<<10))
	}
	_ = c.SetWriteDeadline(until)
	_, _ = io.WriteString(c, text)
	return "open"
}

const (
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	getItem = "\x82\x04\x05/item\x87\x01\x01h" // GET /item https h
)

// tlsAttacks are those that only TLS and HTTP/2 know.
func tlsAttacks() map[string]attack {
	over := []string{"closed"}
	ping := frame(6, 0, 0, "12345678")
	return map[string]attack{
		"no handshake":   {30, "", says(""), over},
		"slow handshake": {30, "", drips("\x16\x03\x01\x00\xff\x01\x00\x00\xfb\x03\x03", "a", 300*time.Millisecond), over},
		"no TLS":         {4, "", says("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), []string{"400", "closed"}},
		"garbage record": {4, "", says("\x16\x03\x01\x00\x05hello"), over},
		"h2 no preface":  {2, "h2", says(""), over},
		"h2 garbage":     {2, "h2", says(strings.Repeat("x", 100)), over},
		"h2 resets":      {2, "h2", resets, []string{"open", "closed"}},
		"h2 headers":     {2, "h2", floods(preface+frame(1, 1, 1, getItem), strings.Repeat(frame(9, 0, 1, strings.Repeat("\x00\x01a\x01b", 200)), 8)), []string{"closed"}},
		"h2 settings":    {2, "h2", bursts(preface, strings.Repeat(frame(4, 0, 0, "\x00\x04\x00\x00\xff\xff"), 64)), []string{"open", "closed"}},
		"h2 pings":       {2, "h2", bursts(preface, strings.Repeat(ping, 64)), []string{"open", "closed"}},
		"h2 empty data":  {2, "h2", bursts(preface+frame(1, 4, 1, "\x83"+getItem[1:]), strings.Repeat(frame(0, 0, 1, ""), 64)), []string{"open", "closed"}},
		"h2 unread":      {2, "h2", streams, []string{"open", "closed"}},
		"h2 window":      {2, "h2", floods(preface, frame(8, 0, 0, "\x7f\xff\xff\xff")), over},
		"h2 huge frame":  {2, "h2", floods(preface, "\xff\xff\xff\x00\x00\x00\x00\x00\x01"+strings.Repeat("a", many)), over},
	}
}

// under runs attacks at once, and says what each connection saw.
func (b *besieged) under(all map[string]attack) {
	b.t.Helper()
	until := time.Now().Add(siege)
	var mu sync.Mutex                   // guards seen
	seen := map[string]map[string]int{} // attack and outcome
	var wg sync.WaitGroup
	for name, a := range all {
		for range a.conns {
			wg.Go(func() {
				saw := ""
				if c, err := b.dial(a.proto); err != nil {
					saw = "closed" // a handshake that took too long
				} else {
					by := until
					if !slices.Contains(a.may, "open") {
						by = time.Now().Add(3 * siege)
					}
					_ = c.SetDeadline(by)
					saw = a.do(c, by)
					c.Close()
				}
				mu.Lock()
				defer mu.Unlock()
				if seen[name] == nil {
					seen[name] = map[string]int{}
				}
				seen[name][saw]++
			})
		}
	}
	wg.Wait()
	for name, saw := range seen {
		b.t.Logf("%s: %v", name, saw)
		for what := range saw {
			if !slices.Contains(all[name].may, what) {
				b.t.Errorf("%s: %s, want one of %v", name, what, all[name].may)
			}
		}
	}
}

// All at once: slow heads and bodies, heads without an end, floods of requests,
// answers that nobody takes, broken handshakes and what HTTP/2 has to offer.
// Good callers are served meanwhile, memory is bounded, and nothing is left.
func TestHostileClients(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			if !secure {
				pace.Spare(t, "TLS")
				pace.Soak(t, "TLS")
			}
			t.Parallel()
			b := besiege(t, secure)
			all := attacks("")
			if secure {
				all = attacks("http/1.1")
				maps.Copy(all, tlsAttacks())
			}
			end := b.welcome()
			before := b.status("VmRSS")
			b.under(all)
			b.until("every connection is gone", func() bool { return b.callers() <= welcome })
			end()
			if !pace.Watched { // which takes most of what good callers need
				b.judge()
			}
			peak := b.status("VmHWM")
			t.Logf("at most %d MiB of memory, %d MiB before", peak>>20, before>>20)
			if peak > before+512<<20 {
				t.Errorf("memory grew from %d to %d MiB", before>>20, peak>>20)
			}
		})
	}
}
