// Package frame reads and writes the frames of a WebSocket (RFC 6455), as far as
// the benchmarks use them: text and close frames, unfragmented, of at most 125
// bytes.
package frame

import (
	"bufio"
	"crypto/sha1" //nolint:gosec // RFC 6455 wants it; nothing is secret
	"encoding/base64"
	"fmt"
	"io"
)

// The opcodes.
const (
	Text  = 1
	Close = 8
)

const maxPayload = 125

// Accept returns the Sec-WebSocket-Accept for a Sec-WebSocket-Key.
func Accept(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Write writes one frame. Clients mask theirs; the mask may be 0 for benchmarks.
func Write(w io.Writer, op byte, masked bool, payload string) error {
	if len(payload) > maxPayload {
		return fmt.Errorf("frame of %d bytes, at most %d", len(payload), maxPayload)
	}
	b := []byte{0x80 | op, byte(len(payload))}
	if masked {
		b[1] |= 0x80
		b = append(b, 0, 0, 0, 0)
	}
	_, err := w.Write(append(b, payload...))
	return err
}

// Read reads one frame and unmasks it.
func Read(r *bufio.Reader) (op byte, payload string, err error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, "", err
	}
	n := int(head[1] & 0x7f)
	if n > maxPayload {
		return 0, "", fmt.Errorf("frame with a length of more than %d bytes", maxPayload)
	}
	var mask [4]byte
	if head[1]&0x80 != 0 {
		if _, err := io.ReadFull(r, mask[:]); err != nil {
			return 0, "", err
		}
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return 0, "", err
	}
	for i := range text {
		text[i] ^= mask[i%4]
	}
	return head[0] & 0x0f, string(text), nil
}
