package hints

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// pack packs a text.
func pack(tb testing.TB, how Packing, text []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch how {
	case Gzip:
		w = gzip.NewWriter(&b)
	case Deflate:
		w = zlib.NewWriter(&b)
	case Brotli:
		w = brotli.NewWriterLevel(&b, 4)
	case Zstd:
		z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(maxWindow))
		if err != nil {
			tb.Fatal(err)
		}
		w = z
	case Plain, Unknown:
		return text
	}
	if _, err := w.Write(text); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

var packings = []Packing{Gzip, Deflate, Brotli, Zstd}

// One unpacker reads what comes in turns, whole, cut off, broken, or called by
// the name of another.
func TestUnpack(t *testing.T) {
	var u unpacker
	var lines bytes.Buffer
	for i := 0; lines.Len() < 3*MaxHead; i++ {
		fmt.Fprintf(&lines, `{"key":"%x","doc_count":%d},`, i*2654435761, i*7919)
	}
	long := lines.Bytes()
	for range 2 {
		for _, how := range packings {
			if got, ok := u.text(how, pack(t, how, []byte(counted))); !ok || string(got) != counted {
				t.Errorf("%d: %q %v", how, got, ok)
			}
			packed := pack(t, how, long)
			if got, ok := u.text(how, packed[:min(MaxHead, len(packed))]); !ok || !bytes.Equal(got, long[:MaxHead]) {
				t.Errorf("%d: %d bytes of a long one, %v", how, len(got), ok)
			}
			if got, _ := u.text(how, packed[:100]); !bytes.HasPrefix(long, got) {
				t.Errorf("%d: of a hundred bytes it makes %q", how, got)
			}
			for _, none := range []string{"", counted, string(pack(t, how, []byte(counted))[1:])} {
				if got, ok := u.text(how, []byte(none)); ok && string(got) == counted {
					t.Errorf("%d: %q is said to be packed", how, none)
				}
			}
		}
	}
	for _, how := range []Packing{Unknown, Unknown + 1} {
		if _, ok := u.text(how, []byte(counted)); ok {
			t.Errorf("%d is read", how)
		}
	}
}

// A few bytes that would be many are read as far as there is room, and what they
// want remembered is bounded.
func TestUnpackBombs(t *testing.T) {
	zeros := make([]byte, 16<<20)
	for _, how := range packings {
		bomb := pack(t, how, zeros)
		if len(bomb) > MaxHead {
			bomb = bomb[:MaxHead]
		}
		var u unpacker
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, ok := u.text(how, bomb)
		runtime.ReadMemStats(&after)
		if !ok || len(got) != MaxHead {
			t.Errorf("%d: %d bytes, %v", how, len(got), ok)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 12<<20 { // a window of zstd, and no more
			t.Errorf("%d: it takes %d MiB", how, used>>20)
		}
	}
	var u unpacker
	wide := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x98, 0x0b, 0x00, 0x00, 'a', 0x2b, 0x80, 0x05} // a window of 2^29
	if got, ok := u.text(Zstd, wide); ok {
		t.Errorf("%q", got)
	}
}

func FuzzUnpack(f *testing.F) {
	for _, how := range packings {
		f.Add(byte(how), pack(f, how, []byte(counted)))
		f.Add(byte(how), pack(f, how, []byte(strings.Repeat(counted, 50)))[:60])
	}
	var u unpacker
	f.Fuzz(func(t *testing.T, how byte, head []byte) {
		head = head[:min(len(head), MaxHead)]
		got, ok := u.text(Packing(how%6), head)
		if len(got) > MaxHead || ok && len(got) == 0 && len(head) > 0 {
			t.Errorf("%d bytes, %v", len(got), ok)
		}
		if again, _ := u.text(Gzip, []byte(zip(counted))); string(again) != counted {
			t.Errorf("afterwards it reads %q", again)
		}
	})
}
