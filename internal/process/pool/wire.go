package pool

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/internal/process/child"
)

// Version is the version of the line protocol.
const Version = 1

// The bounds of a line.
const (
	MaxBody   = 1 << 20         // bytes of a message's body, as stored in the queue
	MaxID     = 256             // bytes
	MaxBeside = 1 << 20         // bytes of the rest of a message's line
	MaxAnswer = child.MaxReport // bytes of an answer's line without its end
)

const hello = `{"bezoar":1}` + "\n"

// checkFits returns an error if a part of the job is too long for a line.
func checkFits(j *child.Job) error {
	if len(j.Stdin) > MaxBody {
		return fmt.Errorf("the body has %d bytes, and a pool's line can hold %d", len(j.Stdin), MaxBody)
	}
	if n := len(j.Message.ID); n > MaxID {
		return fmt.Errorf("the id has %d bytes, want at most %d", n, MaxID)
	}
	beside := len(j.Message.Group)
	for name, value := range j.Message.Attributes {
		beside += len(name) + len(value)
	}
	if beside > MaxBeside {
		return fmt.Errorf("the attributes have %d bytes, and a pool's line can hold %d", beside, MaxBeside)
	}
	return nil
}

// appendMessage appends the line of a message. The child will be stopped at deadline; zero means never.
func appendMessage(line []byte, id string, j *child.Job, deadline time.Time) []byte {
	line = append(line, `{"bezoar":1,"id":`...)
	line = appendString(line, id)
	if utf8.Valid(j.Stdin) {
		line = append(line, `,"body":`...)
		line = appendString(line, j.Stdin)
	} else {
		line = append(line, `,"body_base64":"`...)
		line = base64.StdEncoding.AppendEncode(line, j.Stdin)
		line = append(line, '"')
	}
	line = append(line, `,"receives":`...)
	line = strconv.AppendInt(line, int64(j.Message.Receives), 10)
	line = append(line, `,"attributes":{`...)
	if len(j.Message.Attributes) > 0 {
		line = appendAttributes(line, j.Message.Attributes)
	}
	line = append(line, '}')
	if j.Message.Group != "" {
		line = append(line, `,"group":`...)
		line = appendString(line, j.Message.Group)
	}
	if !deadline.IsZero() {
		line = append(line, `,"deadline_ms":`...)
		line = strconv.AppendInt(line, deadline.UnixMilli(), 10)
	}
	return append(line, '}', '\n')
}

// appendAttributes appends attributes sorted by name, so that equal messages give equal lines.
func appendAttributes(line []byte, attributes map[string]string) []byte {
	for i, name := range slices.Sorted(maps.Keys(attributes)) {
		if i > 0 {
			line = append(line, ',')
		}
		line = appendString(line, name)
		line = append(line, ':')
		line = appendString(line, attributes[name])
	}
	return line
}

const hex = "0123456789abcdef"

// appendString appends a JSON string. It also escapes U+0085 and U+2028, which the line readers of some languages treat as
// line ends. Invalid UTF-8 becomes U+FFFD.
func appendString[T string | []byte](line []byte, s T) []byte {
	line = append(line, '"')
	plain := 0 // start of the part that is not appended yet and needs no escape
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			line = append(line, s[plain:i]...)
			line = appendEscape(line, c)
			i++
			plain = i
			continue
		}
		r, size := decodeRune(s[i:])
		if r != '\u0085' && r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || size > 1) {
			i += size
			continue
		}
		line = append(line, s[plain:i]...)
		line = append(line, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		i += size
		plain = i
	}
	return append(append(line, s[plain:]...), '"')
}

func appendEscape(line []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(line, '\\', c)
	case '\n':
		return append(line, '\\', 'n')
	case '\r':
		return append(line, '\\', 'r')
	case '\t':
		return append(line, '\\', 't')
	}
	return append(line, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

func decodeRune[T string | []byte](s T) (rune, int) {
	return utf8.DecodeRuneInString(string(s[:min(len(s), utf8.UTFMax)])) // the string does not escape: no allocation
}
