package crash

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// plainLog is n bytes of what a busy service writes.
func plainLog(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "2024-05-11T08:14:%02d.%03dZ INFO  [worker-%d] shop.orders - order %d priced at %d.%02d EUR in %d ms for customer %x\n",
			i%60, i%1000, i%8, i, i%500, i%100, i%40, i*7919)
		if i%50 == 0 {
			fmt.Fprintf(&b, "2024-05-11T08:14:%02d.%03dZ WARN  [worker-%d] shop.db - slow query, retrying: error 40001 on attempt %d\n", i%60, i%1000, i%8, i%3)
		}
	}
	return b.Bytes()[:n]
}

func BenchmarkPlainLog(b *testing.B) {
	log := plainLog(16 << 20)
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		if _, err := Parse(bytes.NewReader(log)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTail has nothing to skip: every byte is cleaned and walked.
func BenchmarkTail(b *testing.B) {
	log := plainLog(tailBytes)
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		if _, err := ParseBytes(log); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTrace(b *testing.B) {
	for _, c := range typical() {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := ParseBytes(c.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type sample struct {
	name string
	text []byte
}

func typical() []sample {
	var python, golang, java strings.Builder
	python.WriteString("Traceback (most recent call last):\n")
	golang.WriteString("panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\n")
	java.WriteString("Exception in thread \"main\" java.lang.IllegalStateException: order 7 has no price\n")
	for i := range 20 {
		fmt.Fprintf(&python, "  File \"/srv/shop/level%d.py\", line %d, in step%d\n    return next(order)\n", i, i*3+1, i)
		fmt.Fprintf(&golang, "main.step%d(0x%x, {0xc000012345, 0x3})\n\t/srv/shop/level%d.go:%d +0x1d\n", i, i*77, i, i*3+1)
		fmt.Fprintf(&java, "\tat com.acme.shop.Level%d.step(Level%d.java:%d)\n", i, i, i*3+1)
	}
	python.WriteString("KeyError: 'EUR'\n")
	golang.WriteString("exit status 2\n")
	return []sample{{"python", []byte(python.String())}, {"go", []byte(golang.String())}, {"java", []byte(java.String())}}
}

// The header of a Go panic with thousands of goroutines lies megabytes before
// the end.
func TestHeaderFarBeforeTheTail(t *testing.T) {
	dump := append(plainLog(700<<10), typical()[1].text...)
	dump = bytes.TrimSuffix(dump, []byte("exit status 2\n"))
	var b bytes.Buffer
	b.Write(dump)
	for i := range 40_000 {
		fmt.Fprintf(&b, "\ngoroutine %d [select, 3 minutes]:\nmain.wait(0xc0000%d)\n\t/srv/shop/wait.go:12 +0x1d\n", i+2, i)
	}
	r, err := Parse(&b)
	if err != nil || r.Frame.Function == "" || !strings.HasSuffix(r.Frame.File, "level0.go") || r.Frame.Line != 1 {
		t.Errorf("got %v (%v), want level0.go:1\n%q", r.Frame, err, r.Why)
	}
}

// endless is an output that never stops talking.
type endless struct {
	line []byte
	left int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && e.left > 0 {
		k := copy(p[n:], e.line)
		n, e.left = n+k, e.left-k
	}
	return n, nil
}

func TestMemoryIsBounded(t *testing.T) {
	for _, line := range []string{"all is well\n", "panic: \n", "\n", "{\"a\":1}\n", "x", "Traceback (most recent call last):\n", "\x1b[31m\r"} {
		var k keeper
		if err := k.keep(&endless{[]byte(line), 24 << 20}); err != nil {
			t.Fatal(err)
		}
		held := cap(k.tail)
		for _, w := range k.windows {
			held += cap(w.data)
		}
		if limit := 4*tailBytes + maxWindows*2*windowBytes; held > limit {
			t.Errorf("%q: holds %d bytes, more than %d", line, held, limit)
		}
		for _, p := range k.pieces() {
			clean(p)
		}
	}
}

// Work grows with the input, not with its square: counted, not timed.
func TestWorkIsLinear(t *testing.T) {
	for _, block := range []string{
		"all is well\n", "    indented\n  less\n      more\n", "Traceback (most recent call last):\n",
		"java.lang.Error: x\n", "panic: x\n", "goroutine 1 [running]:\n", "Caused by: x\n", "  + Exception\n", "a: line 3: b\n",
		"make: *** x\n", "{\"stack\":\"a\\n\\tat b\\n\\tat c\"}\n", "> \n", "ERROR:  x\n", "a.c:1:2: error: x\n",
	} {
		count := func(n int) int {
			t := clean([]byte(strings.Repeat(block, n)))
			w := walk{table: languages()}
			w.over(t.lines)
			return w.asked
		}
		small, large := count(500), count(2000)
		if large > 5*small+100 {
			t.Errorf("%q: 500 blocks ask %d times, 2000 ask %d times", block, small, large)
		}
	}
}

func TestPiecesHoldTheEndAndLoseNothingSmall(t *testing.T) {
	for _, n := range []int{0, 1, chunkBytes, tailBytes, tailBytes + 1, 2*tailBytes + 7, 5 * tailBytes} {
		log := plainLog(n)
		var k keeper
		if err := k.keep(bytes.NewReader(log)); err != nil {
			t.Fatal(err)
		}
		joined := bytes.Join(k.pieces(), nil)
		if n <= tailBytes && !bytes.Equal(joined, log) {
			t.Errorf("%d bytes: lost some", n)
		}
		if !bytes.HasSuffix(log, joined[max(0, len(joined)-tailBytes/2):]) {
			t.Errorf("%d bytes: lost the end", n)
		}
		if got := bytes.Join(piecesOf(log), nil); !bytes.Equal(got, joined) {
			t.Errorf("%d bytes: a reader and a slice are kept differently", n)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range typical() {
		f.Add(c.text)
	}
	for _, s := range []string{bare, "psql:a.sql:3: ERROR:  x\n", "a.sh: line 3: x: command not found\n", `{"stack":"a\n at b"}`, "==1==ERROR: AddressSanitizer: x on y\n #0 0x1 in f a.c:1\n", "\xff\xfea\x00", "[31m\r\n> > |"} {
		f.Add([]byte(s))
	}
	for _, s := range append(readStrangers(f, "heldout.ndjson"), readStrangers(f, "crash-logs.ndjson")...) {
		f.Add([]byte(s.Text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseBytes(b)
		again, _ := ParseBytes(b)
		if r.Fingerprint != again.Fingerprint || r.Group != again.Group {
			t.Errorf("two readings differ: %v and %v", r, again)
		}
		if err == nil && (len(r.Fingerprint) != 32 || len(r.Group) != 32 || r.Quality == "") {
			t.Errorf("incomplete: %+v", r)
		}
		for _, step := range r.Why {
			if strings.HasPrefix(step, brokenReader) {
				t.Error(step)
			}
		}
		if len(r.Reason) > MaxReason {
			t.Errorf("a reason of %d bytes", len(r.Reason))
		}
		OfRun(b, Ending{Code: 1})
	})
}
