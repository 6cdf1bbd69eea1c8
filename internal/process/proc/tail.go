package proc

// Tail keeps the last Max bytes written to it. It allocates memory as needed. Set Max before use: the zero value keeps
// nothing. It is not safe for concurrent use.
type Tail struct {
	Max  int // bytes kept
	buf  []byte
	next int // index of the oldest byte once buf is full
	lost int64
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	n := len(p)
	if over := len(p) - t.Max; over > 0 {
		t.lost += int64(over)
		p = p[over:]
	}
	if room := t.Max - len(t.buf); room > 0 {
		k := min(room, len(p))
		t.buf = append(t.buf, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(t.buf[t.next:], p)
		t.lost += int64(k)
		t.next = (t.next + k) % len(t.buf)
		p = p[k:]
	}
	return n, nil
}

// Bytes returns a copy of the kept bytes, oldest first; nil if there are none.
func (t *Tail) Bytes() []byte {
	if len(t.buf) == 0 {
		return nil
	}
	out := make([]byte, 0, len(t.buf))
	return append(append(out, t.buf[t.next:]...), t.buf[:t.next]...)
}

// Lost returns how many bytes were not kept.
func (t *Tail) Lost() int64 { return t.lost }

// Reset drops the kept bytes and keeps the memory.
func (t *Tail) Reset() { t.buf, t.next, t.lost = t.buf[:0], 0, 0 }
