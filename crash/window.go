package crash

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// What is kept of an input of any size. Memory stays below tailBytes +
// maxWindows × windowBytes + one chunk.
const (
	tailBytes   = 256 << 10 // the end, where a program says what it died of
	windowBytes = 64 << 10  // after a beginning that the tail may have lost
	maxWindows  = 4         // the last so many beginnings
	leadBytes   = 1 << 10   // kept before a beginning: what is glued to it
	chunkBytes  = 64 << 10
)

// window is one contiguous piece of the input.
type window struct {
	at   int64 // offset of data in the input
	data []byte
}

func (w window) end() int64 { return w.at + int64(len(w.data)) }

// keeper holds the tail of a stream and the windows behind the last strong
// beginnings before it: a Go panic with thousands of goroutines has its
// header megabytes before its end.
type keeper struct {
	marks   *marks
	windows []window
	tail    []byte // at most 2 × tailBytes; the last tailBytes count
	seen    int64
}

// keep reads all of r.
func (k *keeper) keep(r io.Reader) error {
	chunk := make([]byte, chunkBytes)
	for {
		n, err := io.ReadFull(r, chunk)
		k.add(chunk[:n])
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		default:
			return fmt.Errorf("read the output after %d bytes: %w", k.seen, err)
		}
	}
}

// add takes the next piece of the stream.
func (k *keeper) add(b []byte) {
	k.feed(b)
	if k.seen+int64(len(b)) > tailBytes && k.marks == nil {
		k.marks = newMarks()
		k.mark(k.tail, k.seen-int64(len(k.tail)))
	}
	if k.marks != nil {
		k.mark(b, k.seen)
	}
	k.tail = append(k.tail, b...)
	k.seen += int64(len(b))
	if len(k.tail) > 2*tailBytes {
		k.tail = append(k.tail[:0], k.tail[len(k.tail)-tailBytes:]...)
	}
}

// feed fills windows that are not full yet.
func (k *keeper) feed(b []byte) {
	if len(k.windows) == 0 {
		return
	}
	w := &k.windows[len(k.windows)-1]
	if w.end() == k.seen && len(w.data) < windowBytes {
		w.data = append(w.data, b[:min(len(b), windowBytes-len(w.data))]...)
	}
}

// mark opens windows at the beginnings in b, which starts at offset at. A
// beginning within an open window is held by it already. A word that two
// chunks share is not seen; one in ten thousand is not worth the copying.
func (k *keeper) mark(b []byte, at int64) {
	for i := 0; ; {
		next := k.marks.find(b[i:])
		if next < 0 {
			return
		}
		i += next
		if n := len(k.windows); n > 0 && at+int64(i) < k.windows[n-1].at+windowBytes {
			i++
			continue
		}
		from := lead(b, i)
		to := min(len(b), from+windowBytes)
		if len(k.windows) == maxWindows {
			k.windows = append(k.windows[:0], k.windows[1:]...)
		}
		k.windows = append(k.windows, window{at: at + int64(from), data: bytes.Clone(b[from:to])})
		i = max(to, i+1)
	}
}

// lead returns where a window for the word at b[i] begins: at a line before it.
func lead(b []byte, i int) int {
	from := max(0, i-leadBytes)
	if from == 0 {
		return 0
	}
	if nl := bytes.IndexByte(b[from:i], '\n'); nl >= 0 {
		return from + nl + 1
	}
	return i
}

// pieces returns what was kept, in order, without overlaps. Each piece but the
// first byte of the input begins at a line.
func (k *keeper) pieces() [][]byte {
	tail := k.tail
	if len(tail) > tailBytes {
		tail = tail[len(tail)-tailBytes:]
	}
	start := k.seen - int64(len(tail))
	var out [][]byte
	for i, w := range k.windows {
		if i+1 < len(k.windows) && w.end() > k.windows[i+1].at {
			w.data = w.data[:max(0, k.windows[i+1].at-w.at)]
		}
		switch {
		case w.at >= start:
		case w.end() >= start: // runs into the tail
			tail = append(bytes.Clone(w.data[:start-w.at]), tail...)
			start = w.at
		case len(w.data) > 0:
			out = append(out, w.data)
		}
	}
	return append(out, fromLine(tail, start))
}

// fromLine drops the rest of a line that began before the piece.
func fromLine(b []byte, at int64) []byte {
	if at == 0 {
		return b
	}
	if i := bytes.IndexByte(b, '\n'); i >= 0 && i < 64<<10 {
		return b[i+1:]
	}
	return b
}
