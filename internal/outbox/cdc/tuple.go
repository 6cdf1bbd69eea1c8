package cdc

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// This package decodes row messages itself instead of using pglogrepl, which copies each
// column separately. Nearly all messages are row messages, and this decoder needs two
// allocations per row instead of twenty.

var errShort = errors.New("the message ends too early")

// cursor reads a message from start to end. After an error it reads nothing.
type cursor struct {
	b   []byte
	err error
}

func (c *cursor) take(n int) []byte {
	if c.err == nil && (n < 0 || n > len(c.b)) {
		c.err = errShort
	}
	if c.err != nil {
		return nil
	}
	out := c.b[:n:n]
	c.b = c.b[n:]
	return out
}

func (c *cursor) byte() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) uint16() int {
	if b := c.take(2); b != nil {
		return int(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (c *cursor) uint32() uint32 {
	if b := c.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// tuple reads the values of a row. They share the message's memory.
func (c *cursor) tuple() []Value {
	n := c.uint16()
	if c.err != nil || n > len(c.b) { // each column has at least one byte
		c.err = errors.Join(c.err, errShort)
		return nil
	}
	out := make([]Value, n)
	for i := range out {
		switch kind := c.byte(); kind {
		case 'n':
			out[i].Null = true
		case 'u':
			out[i].Unchanged = true
		case 't', 'b':
			out[i].Text = c.take(int(c.uint32()))
		default:
			if c.err == nil {
				c.err = fmt.Errorf("a value has the unknown kind %q", kind)
			}
		}
	}
	return out
}

// readChange decodes an insert, update or delete, and the number of its relation. The
// result shares b's memory.
func readChange(b []byte) (relation uint32, change Change, err error) {
	c := &cursor{b: b}
	kind := c.byte()
	relation = c.uint32()
	part := c.byte()
	switch kind {
	case 'I':
		change.Op = Insert
	case 'U':
		change.Op = Update
	case 'D':
		change.Op = Delete
	}
	if part == 'K' || part == 'O' {
		change.KeyOnly = part == 'K'
		change.Old = c.tuple()
		if change.Op == Update {
			part = c.byte()
		}
	}
	if change.Op != Delete {
		if part != 'N' && c.err == nil {
			c.err = fmt.Errorf("a row is of the unknown kind %q", part)
		}
		change.New = c.tuple()
	}
	return relation, change, c.err
}
