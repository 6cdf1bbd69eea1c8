package rows

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestRows(t *testing.T) {
	for _, c := range []struct {
		name, format, in string
		want             []string // "line:text"
		header           string
	}{
		{"lines", "lines", "a\n\nb\r\nc", []string{"1:a", "2:", "3:b", "4:c"}, ""},
		{"nothing", "lines", "", nil, ""},
		{"one blank line", "lines", "\n", []string{"1:"}, ""},
		{"byte order mark", "lines", "\xef\xbb\xbfa\nb\n", []string{"1:a", "2:b"}, ""},
		{"a mark alone", "lines", "\xef\xbb\xbf", nil, ""},
		{"half a mark", "lines", "\xef\xbb", []string{"1:\xef\xbb"}, ""},
		{"ndjson", "ndjson", "\n{}\n \t\n[1]\r\n\n", []string{"2:{}", "4:[1]"}, ""},
		{"csv", "csv", "a,b\n1,2\n3,4", []string{"2:1,2", "3:3,4"}, "a,b\n"},
		{"csv with a mark", "csv", "\xef\xbb\xbfa\n1\n", []string{"2:1"}, "a\n"},
		{"line ends in quotes", "csv", "a,b\r\n1,\"x\r\ny\"\r\n\"\"\"\n\"\"\",2\r\n", []string{"2:1,\"x\r\ny\"", "4:\"\"\"\n\"\"\",2"}, "a,b\r\n"},
		{"in the header", "csv", "\n\"a\nb\",c\n1,2\n", []string{"4:1,2"}, "\"a\nb\",c\n"},
		{"blank lines", "csv", "a\n\n1\n\n\n2\n\n", []string{"3:1", "6:2"}, "a\n"},
		{"a quote within a field", "csv", "a\n5\" pipe\n6\n", []string{"2:5\" pipe", "3:6"}, "a\n"},
		{"header only", "csv", "a,b", nil, "a,b"},
		{"no header", "csv", "\n\n", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, err := Read(strings.NewReader(c.in), Config{Format: Format(c.format)})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range x.Rows {
				r, err := x.Row(strings.NewReader(c.in), i)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprintf("%d:%s", r.Line, r.Text))
			}
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) || string(x.Header) != c.header || x.Size != int64(len(c.in)) {
				t.Errorf("%q, header %q, size %d; want %q, %q, %d", got, x.Header, x.Size, c.want, c.header, len(c.in))
			}
		})
	}
}

func TestFaultsNameTheirLine(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a\n1\n2\n\"x\ny\n", "line 4: the quote that opens here is never closed"},
		{"a\n\"1\n2\"3\n", "line 3: text follows a closing quote"},
		{"a\n\"1\"\r2\n", "line 2: text follows a closing quote"},
		{"a\n1\n" + strings.Repeat("x", 100) + "\n", "line 3: the row that begins here is longer than 64 bytes"},
		{"a\n1\n\"" + strings.Repeat("x\n", 100), "line 3: the row that begins here is longer than 64 bytes; is the quote of line 3 never closed?"},
		{strings.Repeat("x", 100), "line 1: the row"},
	} {
		_, err := Read(strings.NewReader(c.in), Config{Format: CSV, MaxRow: 64})
		var fault *LineError
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.in, err, c.want)
		}
	}
	broken := errors.New("broken disk")
	if _, err := Read(io.MultiReader(strings.NewReader("a\nb\n"), failing{broken}), Config{}); !errors.Is(err, broken) {
		t.Error(err)
	}
	err := Config{Format: "xml", Delimiter: '"', MaxRow: -1}.Validate()
	for _, field := range []string{"format", "delimiter", "max row"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%v: nothing about %s", err, field)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Any rows can be found again, in a file with many places.
func TestExtents(t *testing.T) {
	var in bytes.Buffer
	in.WriteString("id,text\n")
	var starts []int
	for i := range 3000 {
		if i%7 == 0 {
			in.WriteString("\n")
		}
		starts = append(starts, in.Len())
		fmt.Fprintf(&in, "%d,\"line %d\n%s\"\n", i, i, strings.Repeat("y", i%400*10))
	}
	file := bytes.NewReader(in.Bytes())
	x, err := Read(bytes.NewReader(in.Bytes()), Config{Format: CSV})
	if err != nil || x.Rows != 3000 || len(x.places) < 12 {
		t.Fatalf("%v, %d rows, %d places", err, x.Rows, len(x.places))
	}
	for _, s := range [][2]int{{0, 1}, {0, 3000}, {255, 257}, {256, 256}, {1000, 1001}, {2999, 3000}, {700, 2100}} {
		off, n, err := x.Extent(file, s[0], s[1])
		if err != nil {
			t.Fatal(err)
		}
		if s[0] == s[1] {
			if n != 0 {
				t.Errorf("%v has %d bytes", s, n)
			}
			continue
		}
		end := in.Len()
		if s[1] < 3000 {
			end = starts[s[1]]
		}
		got := bytes.TrimRight(in.Bytes()[off:off+n], "\n")
		if want := bytes.TrimRight(in.Bytes()[starts[s[0]]:end], "\n"); !bytes.Equal(got, want) {
			t.Errorf("%v is %.60q…, want %.60q…", s, got, want)
		}
	}
	if _, err := x.Row(file, 3000); err == nil {
		t.Error("there is a row too many")
	}
	if _, err := x.Row(bytes.NewReader(in.Bytes()[:100]), 2000); err == nil {
		t.Error("a row of a file that was cut")
	}
	for from := 0; from < 3000; {
		to := x.Fit(from, 3000, 2<<20)
		_, n, err := x.Extent(file, from, to)
		if err != nil || to <= from || n > 4<<20 || to < 3000 && n < 1<<20 {
			t.Fatalf("%d to %d has %d bytes, %v", from, to, n, err)
		}
		from = to
	}
	if to := x.Fit(10, 20, 1<<40); to != 20 {
		t.Errorf("up to %d", to)
	}
}

// Whatever is read: rows lie one behind the other, cover all that is not blank,
// and are found again; CSV that Go reads has as many.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"a,b\n1,\"x\n\"\"y\"\n", "\xef\xbb\xbfa\r\n\r\n1\r\n", "\"\"\"\n", "{}\n\n[]", "\"a\"b\n"} {
		for _, format := range []string{"csv", "lines", "ndjson"} {
			f.Add(s, format)
		}
	}
	f.Fuzz(func(t *testing.T, in, format string) {
		x, err := Read(strings.NewReader(in), Config{Format: Format(format), MaxRow: 1 << 10})
		if err != nil {
			return
		}
		file := strings.NewReader(in)
		whole, n, err := x.Extent(file, 0, x.Rows)
		if err != nil || whole+n > x.Size {
			t.Fatalf("all rows are %d bytes at %d of %d: %v", n, whole, x.Size, err)
		}
		var all []byte
		for i := range x.Rows {
			r, err := x.Row(file, i)
			if err != nil {
				t.Fatal(err)
			}
			off, n, err := x.Extent(file, i, i+1)
			if err != nil || !strings.HasPrefix(in[off:off+n], string(r.Text)) {
				t.Fatalf("row %d is %q at %d: %v", i, r.Text, off, err)
			}
			all = append(all, in[off:off+n]...)
		}
		if format == "lines" && string(all) != in[whole:whole+n] {
			t.Errorf("rows are %q, the file is %q", all, in)
		}
		if format != "csv" {
			return
		}
		c := csv.NewReader(strings.NewReader(strings.TrimPrefix(in, "\xef\xbb\xbf")))
		c.FieldsPerRecord = -1
		records, err := c.ReadAll()
		if err == nil && !blankQuirk(in) && max(0, len(records)-1) != x.Rows {
			t.Errorf("%d rows, Go reads %d in %q", x.Rows, len(records)-1, in)
		}
	})
}

// blankQuirk reports what Go's reader takes otherwise: lines of white space that
// are not empty, and lone carriage returns.
func blankQuirk(in string) bool {
	for line := range strings.Lines(in) {
		text := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if strings.TrimSpace(text) == "" && text != "" || strings.Contains(text, "\r") {
			return true
		}
	}
	return false
}

func BenchmarkRead(b *testing.B) {
	in := []byte(strings.Repeat("12345,some text,\"quoted, text\",2024-01-01\n", 100_000))
	for _, format := range []Format{Lines, NDJSON, CSV} {
		b.Run(string(format), func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(bytes.NewReader(in), Config{Format: format}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
