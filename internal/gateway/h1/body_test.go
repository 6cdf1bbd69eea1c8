package h1

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBody(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 40<<10) // larger than every buffer
	for _, tc := range []struct {
		name, data string
		length     int64
		want, rest string
		trailers   []Field
	}{
		{"none", "next", 0, "", "next", nil},
		{"length", "hellonext", 5, "hello", "next", nil},
		{"long", long + "next", int64(len(long)), long, "next", nil},
		{"until close", "hello", UntilClose, "hello", "", nil},
		{"chunks", crlf("5\nhello\n6\n world\n0\n\nnext"), -1, "hello world", "next", nil},
		{"no chunks", crlf("0\n\nnext"), -1, "", "next", nil},
		{"zeros before the size", crlf("0005\nhello\n000\n\nnext"), -1, "hello", "next", nil},
		{"either case", crlf("A\n0123456789\na\n0123456789\n0\n\n"), -1, "01234567890123456789", "", nil},
		{"extensions", crlf("5;a=b;c=\"d\"\nhello\n0;x\n\nnext"), -1, "hello", "next", nil},
		{"line ends in the data", crlf("4\n\n\n\n0\n\nnext"), -1, "\r\n\r\n", "next", nil},
		{
			"trailers", crlf("5\nhello\n0\nX-Sum: 1\nX-Sum: 2\n\nnext"), -1, "hello", "next",
			[]Field{{"X-Sum", "1", Other}, {"X-Sum", "2", Other}},
		},
		{"long chunk", crlf("a0000\n") + long + crlf("\n0\n\nnext"), -1, long, "next", nil},
	} {
		for _, step := range []int{0, 1, 7, 4096} {
			if step == 1 && len(tc.data) > 1<<16 {
				continue
			}
			s := sockOver(tc.data, step)
			var b Body
			b.reset(s, tc.length, Limits{}.orDefaults())
			got, err := readAll(&b)
			if err != nil || got != tc.want {
				t.Fatalf("%s in steps of %d: got %d bytes, error %v, want %d bytes", tc.name, step, len(got), err, len(tc.want))
			}
			if !b.Done() {
				t.Errorf("%s: not done at its end", tc.name)
			}
			if d := cmp.Diff(tc.trailers, b.Trailers()); d != "" && len(tc.trailers)+len(b.Trailers()) > 0 {
				t.Errorf("%s: trailers: %s", tc.name, d)
			}
			rest, _ := io.ReadAll(s.nc)
			if rest := string(s.buffered()) + string(rest); rest != tc.rest {
				t.Errorf("%s in steps of %d: %q is left, want %q", tc.name, step, rest, tc.rest)
			}
		}
	}
}

func TestBodyRefused(t *testing.T) {
	for _, tc := range []struct {
		name, data string
		length     int64
		cut        bool // the connection ended early, rather than a rule was broken
	}{
		{"short", "hell", 5, true},
		{"nothing", "", 5, true},
		{"no last chunk", crlf("5\nhello\n"), -1, true},
		{"in a size", "5", -1, true},
		{"in a chunk", crlf("5\nhel"), -1, true},
		{"behind a chunk", crlf("5\nhello"), -1, true},
		{"in the trailers", crlf("0\nX: y\n"), -1, true},
		{"before the last line end", crlf("0\n"), -1, true},
		{"empty size", crlf("\nhello\n0\n\n"), -1, false},
		{"no digits", crlf("x\nhello\n0\n\n"), -1, false},
		{"0x", crlf("0x5\nhello\n0\n\n"), -1, false},
		{"sign", crlf("+5\nhello\n0\n\n"), -1, false},
		{"space before", crlf(" 5\nhello\n0\n\n"), -1, false},
		{"space behind", crlf("5 \nhello\n0\n\n"), -1, false},
		{"space before an extension", crlf("5 ;a\nhello\n0\n\n"), -1, false},
		{"overflow", crlf("10000000000000005\nhello\n0\n\n"), -1, false},
		{"many zeros", crlf(strings.Repeat("0", 16) + "5\nhello\n0\n\n"), -1, false},
		{"bare LF behind the size", "5\nhello\r\n0\r\n\r\n", -1, false},
		{"bare CR behind the size", "5\rhello\r\n0\r\n\r\n", -1, false},
		{"bare LF behind the data", "5\r\nhello\n0\r\n\r\n", -1, false},
		{"chunk longer than its size", crlf("4\nhello\n0\n\n"), -1, false},
		{"chunk shorter than its size", crlf("6\nhello\n0\n\n"), -1, false},
		{"bare LF in an extension", "5;a\nb\r\nhello\r\n0\r\n\r\n", -1, false},
		{"NUL in an extension", crlf("5;\x00\nhello\n0\n\n"), -1, false},
		{"long extension", crlf("5;" + strings.Repeat("a", 2<<10) + "\nhello\n0\n\n"), -1, false},
		{"endless size line", "5;" + strings.Repeat("a", 8<<10), -1, false},
		{"bare LF in the trailers", crlf("0\n") + "X: y\n\r\n", -1, false},
		{"folded trailer", crlf("0\nX: y\n z\n\n"), -1, false},
		{"length as trailer", crlf("0\nContent-Length: 3\n\n"), -1, false},
		{"coding as trailer", crlf("0\nTransfer-Encoding: chunked\n\n"), -1, false},
		{"endless trailers", crlf("0\n" + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\n", 70) + "\n"), -1, false},
		{"too many trailers", crlf("0\n" + strings.Repeat("X: y\n", 201) + "\n"), -1, false},
	} {
		for _, step := range []int{0, 1, 3} {
			var b Body
			b.reset(sockOver(tc.data, step), tc.length, Limits{}.orDefaults())
			_, err := readAll(&b)
			var e *Error
			if cut := errors.Is(err, io.ErrUnexpectedEOF); cut != tc.cut || !cut && !errors.As(err, &e) {
				t.Errorf("%s in steps of %d: %v", tc.name, step, err)
			}
		}
	}
}

// TestBodiesOfAnswersMayBeWrittenOddly: servers write chunk sizes with white space and zeros, and trailers that belong into
// the head.
func TestBodiesOfAnswersMayBeWrittenOddly(t *testing.T) {
	for _, tc := range []struct {
		name, data string
		trailers   int
	}{
		{"white space behind the size", crlf("5 \t \nhello\n0  \n\n"), 0},
		{"white space before an extension", crlf("5 ;a=b\nhello\n0 ;x\n\n"), 0},
		{"many zeros", crlf(strings.Repeat("0", 40) + "5\nhello\n" + strings.Repeat("0", 40) + "\n\n"), 0},
		{"trailers of the head", crlf("5\nhello\n0\nContent-Type: a/b\nX: y\nContent-Length: 7\n\n"), 1},
	} {
		for _, step := range []int{0, 1, 3} {
			var b Body
			b.reset(sockOver(tc.data, step), -1, Limits{}.orDefaults())
			b.lenient = true
			got, err := readAll(&b)
			if err != nil || got != "hello" || len(b.Trailers()) != tc.trailers {
				t.Errorf("%s in steps of %d: %q, %d trailers, %v", tc.name, step, got, len(b.Trailers()), err)
			}
		}
	}
	for _, data := range []string{" 5\nhello\n0\n\n", "5 5\nhello\n0\n\n", " \nhello\n0\n\n", "5 \x00\nhello\n0\n\n", "+5\nhello\n0\n\n"} {
		var b Body
		b.reset(sockOver(crlf(data), 0), -1, Limits{}.orDefaults())
		b.lenient = true
		if got, err := readAll(&b); err == nil {
			t.Errorf("%q was read as %q", data, got)
		}
	}
}

// TestBodyReady: Ready never promises what is not there, or a stream would stall.
func TestBodyReady(t *testing.T) {
	for _, data := range []string{crlf("1\na\n1;x\nb\n2\ncd\n0\nX: y\n\n"), "abcd"} {
		length := int64(-1)
		if data == "abcd" {
			length = 4
		}
		for cut := range len(data) {
			for _, step := range []int{0, 1, 3} {
				var b Body
				b.reset(sockOver(data[:cut], step), length, Limits{}.orDefaults())
				for {
					ready := b.Ready()
					_, err := b.Next()
					if err != nil && ready && !errors.Is(err, io.EOF) {
						t.Fatalf("%q in steps of %d: ready, but %v", data[:cut], step, err)
					}
					if err != nil {
						break
					}
				}
			}
		}
	}
}
