package hints

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Packing is how an answer is packed: its Content-Encoding.
type Packing uint8

// What is Unknown is not read.
const (
	Plain Packing = iota
	Gzip
	Deflate
	Brotli
	Zstd
	Unknown
)

// maxWindow bounds what one answer packed as zstd may have its reader remember:
// as much as is allowed in HTTP (RFC 9659). Brotli's own bound is 16 MiB.
const maxWindow = 8 << 20

// unpacker reads the heads of packed answers. Of each it makes at most MaxHead
// bytes, however much there would be. It keeps its memory for the next.
type unpacker struct {
	packed bytes.Reader
	gzip   gzip.Reader
	zlib   io.ReadCloser
	brotli *brotli.Reader
	zstd   *zstd.Decoder
	plain  [MaxHead]byte
}

// text is the head of an answer as it was before it was packed. ok is false for
// what cannot be unpacked. What comes before the cut is good.
func (u *unpacker) text(how Packing, head []byte) (plain []byte, ok bool) {
	if how == Plain {
		return head, true
	}
	u.packed.Reset(head)
	in, err := u.open(how)
	if in == nil || err != nil {
		return nil, false
	}
	size, _ := io.ReadFull(in, u.plain[:])
	return u.plain[:size], size > 0
}

// open is a reader of what is packed; nil: nobody knows how.
func (u *unpacker) open(how Packing) (in io.Reader, err error) {
	switch how {
	case Gzip:
		return &u.gzip, u.gzip.Reset(&u.packed)
	case Deflate:
		if u.zlib == nil {
			u.zlib, err = zlib.NewReader(&u.packed)
			return u.zlib, err
		}
		return u.zlib, u.zlib.(zlib.Resetter).Reset(&u.packed, nil)
	case Brotli:
		if u.brotli == nil {
			u.brotli = brotli.NewReader(nil)
		}
		return u.brotli, u.brotli.Reset(&u.packed)
	case Zstd:
		if u.zstd == nil { // without goroutines of its own
			u.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
			if err != nil {
				u.zstd = nil
				return nil, err
			}
		}
		return u.zstd, u.zstd.Reset(&u.packed)
	case Plain, Unknown:
	}
	return nil, nil
}
