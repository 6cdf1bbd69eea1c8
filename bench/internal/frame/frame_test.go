package frame

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestFramesComeBack(t *testing.T) {
	var b bytes.Buffer
	for _, masked := range []bool{true, false} {
		if err := Write(&b, Text, masked, "hello"); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(&b, Close, true, ""); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(&b)
	for _, want := range []struct {
		op   byte
		text string
	}{{Text, "hello"}, {Text, "hello"}, {Close, ""}} {
		op, text, err := Read(r)
		if err != nil || op != want.op || text != want.text {
			t.Errorf("Read = %d %q %v, want %d %q", op, text, err, want.op, want.text)
		}
	}
	if _, _, err := Read(r); !errors.Is(err, io.EOF) {
		t.Errorf("Read at the end = %v", err)
	}
}

// The masked frame of RFC 6455, section 5.7.
func TestReadUnmasks(t *testing.T) {
	r := bufio.NewReader(strings.NewReader("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"))
	if op, text, err := Read(r); err != nil || op != Text || text != "Hello" {
		t.Errorf("Read = %d %q %v", op, text, err)
	}
}

func TestLongFramesAreRefused(t *testing.T) {
	if err := Write(io.Discard, Text, false, strings.Repeat("x", 126)); err == nil {
		t.Error("Write takes 126 bytes")
	}
	if _, _, err := Read(bufio.NewReader(strings.NewReader("\x81\x7e\x00\x7e"))); err == nil {
		t.Error("Read takes 126 bytes")
	}
}

// The example of RFC 6455, section 1.3.
func TestAccept(t *testing.T) {
	if got := Accept("dGhlIHNhbXBsZSBub25jZQ=="); got != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Errorf("Accept = %q", got)
	}
}
