package h1

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// Body reads the body of one message from its connection.
type Body struct {
	s      *sock
	left   int64 // bytes to come of the body, or of the current chunk
	state  bodyState
	limits Limits

	// lenient is for answers, whose senders are trusted: chunk sizes may have zeros in front and white space behind them, and
	// trailers that belong into the head are left out.
	lenient bool

	trailers []Field
}

type bodyState uint8

const (
	bodyDone  bodyState = iota
	bodyPlain           // left bytes follow
	bodyClose           // until the connection ends
	bodySize            // a chunk-size line comes next
	bodyChunk           // left bytes of a chunk
	bodyEnd             // the CR LF after a chunk comes next
	bodyTrail           // the trailers come next
)

func (b *Body) reset(s *sock, length int64, limits Limits) {
	trailers := b.trailers[:0]
	*b = Body{}
	b.s, b.limits, b.trailers = s, limits, trailers
	switch {
	case length > 0:
		b.left, b.state = length, bodyPlain
	case length == -1:
		b.state = bodySize
	case length == UntilClose:
		b.state = bodyClose
	}
}

// Done reports whether the whole body has been read.
func (b *Body) Done() bool { return b.state == bodyDone }

// Ready reports whether Next returns more of the body without waiting. False may be wrong.
func (b *Body) Ready() bool {
	p := b.s.buffered()
	switch b.state {
	case bodyPlain, bodyChunk, bodyClose:
		return len(p) > 0
	case bodyEnd:
		p = p[min(2, len(p)):]
	case bodySize:
	default:
		return false
	}
	i := bytes.IndexByte(p, '\n')
	return i >= 0 && i+1 < len(p) && p[0] != '0' // a size, and more after it
}

// Trailers returns the trailer fields, once Next has returned io.EOF.
func (b *Body) Trailers() []Field { return b.trailers }

// Next returns the next bytes of the body, which stay valid until the next call, and io.EOF at the end. The error is
// io.ErrUnexpectedEOF if the connection ends too early, and an [*Error] for a malformed chunk.
func (b *Body) Next() ([]byte, error) {
	for {
		switch b.state {
		case bodyDone:
			return nil, io.EOF
		case bodyPlain, bodyChunk:
			return b.run()
		case bodyClose:
			return b.rest()
		case bodySize:
			if err := b.size(); err != nil {
				return nil, short(err)
			}
		case bodyEnd:
			if err := b.behind(); err != nil {
				return nil, short(err)
			}
		case bodyTrail:
			if err := b.trail(); err != nil {
				return nil, short(err)
			}
		}
	}
}

// run returns available bytes, at most left.
func (b *Body) run() ([]byte, error) {
	if b.s.r == b.s.w {
		if err := b.s.fill(); err != nil {
			return nil, short(err)
		}
	}
	p := b.s.buffered()
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	b.s.r += len(p)
	b.left -= int64(len(p))
	if b.left == 0 {
		if b.state == bodyPlain {
			b.state = bodyDone
		} else {
			b.state = bodyEnd
		}
	}
	return p, nil
}

func (b *Body) rest() ([]byte, error) {
	if b.s.r == b.s.w {
		if err := b.s.fill(); err != nil {
			if errors.Is(err, io.EOF) {
				b.state = bodyDone
			}
			return nil, err
		}
	}
	p := b.s.buffered()
	b.s.r = b.s.w
	return p, nil
}

// size reads a chunk-size line.
func (b *Body) size() error {
	line, err := b.line()
	if err != nil {
		return err
	}
	n, err := parseChunkSize(line)
	if err != nil && b.lenient {
		n, err = parseChunkSize(plainSize(line))
	}
	if err != nil {
		return err
	}
	b.left, b.state = n, bodyChunk
	if n == 0 {
		b.state = bodyTrail
	}
	return nil
}

// line takes one line without its CR LF from the buffer.
func (b *Body) line() ([]byte, error) {
	for at := 0; ; {
		p := b.s.buffered()
		for ; at < len(p); at++ {
			if p[at] != '\n' {
				continue
			}
			if at == 0 || p[at-1] != '\r' {
				return nil, bad("a chunk-size line ends in a bare LF")
			}
			if at > maxChunkLine {
				return nil, bad("a chunk-size line is too long")
			}
			b.s.r += at + 1
			return p[:at-1], nil
		}
		if len(p) > maxChunkLine {
			return nil, bad("a chunk-size line is too long")
		}
		if err := b.s.fill(); err != nil { // never full: maxChunkLine is less than a buffer
			return nil, err
		}
	}
}

// behind consumes the CR LF after a chunk.
func (b *Body) behind() error {
	for b.s.w-b.s.r < 2 {
		if b.s.w > b.s.r && b.s.buf[b.s.r] != '\r' {
			break
		}
		if err := b.s.fill(); err != nil {
			return err
		}
	}
	if p := b.s.buffered(); len(p) < 2 || p[0] != '\r' || p[1] != '\n' {
		return bad("a chunk is longer or shorter than its size")
	}
	b.s.r += 2
	b.state = bodySize
	return nil
}

// trail reads the trailer fields and the empty line after them.
func (b *Body) trail() error {
	for line := 0; ; {
		p := b.s.buffered()
		n, next, err := scanTrailers(p, line)
		if err != nil {
			return err
		}
		if n > 0 {
			b.s.r += n
			b.state = bodyDone
			return b.keepTrailers(string(p[:n]))
		}
		line = next
		if len(p) > b.limits.Head {
			return &Error{431, "the trailers are too long"}
		}
		if err := b.s.fill(); err != nil {
			if errors.Is(err, errFull) {
				err = &Error{431, "the trailers are too long"}
			}
			return err
		}
	}
}

// scanTrailers is scan for lines of which the first may be empty.
func scanTrailers(p []byte, line int) (n, next int, err error) {
	if len(p) >= 2 && p[0] == '\r' && p[1] == '\n' {
		return 2, 0, nil
	}
	return scan(p, line)
}

func (b *Body) keepTrailers(s string) error {
	fields, err := parseFields(b.trailers, s, b.limits.Fields)
	if err != nil {
		return err
	}
	if b.lenient {
		fields = slices.DeleteFunc(fields, ofHead)
	} else if slices.ContainsFunc(fields, ofHead) {
		return bad("a trailer has a field that belongs into the head")
	}
	b.trailers = fields
	return nil
}

// ofHead reports whether a trailer belongs into the head.
func ofHead(f Field) bool {
	switch f.Key {
	case ContentLength, TransferEncoding, Host, Connection, Trailer, Expect, ContentType, TE, Upgrade:
		return true
	default:
		return false
	}
}

// short converts an end that came too early to io.ErrUnexpectedEOF.
func short(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

const maxChunkLine = 1 << 10

// plainSize removes white space behind a chunk size and zeros in front of it, which RFC 9112 allows and some servers write.
func plainSize(line []byte) []byte {
	size, extension := line, []byte(nil)
	if i := bytes.IndexByte(line, ';'); i >= 0 {
		size, extension = line[:i], line[i:]
	}
	size = bytes.TrimRight(size, " \t")
	for len(size) > 1 && size[0] == '0' {
		size = size[1:]
	}
	return append(slices.Clip(size), extension...)
}

// parseChunkSize reads "1a" or "1a;name=value". A size has at most 15 digits, which cannot overflow. White space around it
// is not allowed.
func parseChunkSize(line []byte) (int64, error) {
	var n int64
	i := 0
	for ; i < len(line) && line[i] != ';'; i++ {
		d := HexValue(line[i])
		if d < 0 {
			return 0, bad("a chunk size is not hexadecimal")
		}
		if i == 15 {
			return 0, bad("a chunk size has too many digits")
		}
		n = n<<4 | int64(d)
	}
	if i == 0 {
		return 0, bad("a chunk size is missing")
	}
	for _, c := range line[i:] {
		if c < ' ' && c != '\t' || c == 0x7f {
			return 0, bad("a chunk extension has a control character")
		}
	}
	return n, nil
}
