package live

import (
	"fmt"
	"strings"
)

// maxKeyPath is the maximum length of a hunk's heading in bytes.
const maxKeyPath = 200

// level is a key or a list item, with its indentation.
type level struct {
	indent int
	name   string // for an item: "[2]"
	item   int    // number of the item
}

// keyPaths returns a function that returns the keys around a line at, or to be inserted at,
// index at of text. It must be called with ascending indexes. It reads indentation, not
// YAML: in block scalars and flow collections, it may return texts that are not keys.
func keyPaths(text []string) func(at int, line string) string {
	var above []level
	read := 0
	return func(at int, line string) string {
		for ; read < at; read++ {
			above = descend(above, text[read])
		}
		own, n := indentOf(line), len(above)
		item := strings.HasPrefix(line[own:], "-")
		for n > 0 && above[n-1].indent >= own {
			if item && above[n-1].indent == own && !above[n-1].isItem() {
				break // a list may have the indentation of its key
			}
			n--
		}
		return joined(above[:n])
	}
}

func (l level) isItem() bool { return strings.HasPrefix(l.name, "[") }

func descend(above []level, line string) []level {
	if strings.HasPrefix(line, fileMark) {
		return []level{{indent: -1, name: strings.Trim(strings.TrimSpace(line[len(fileMark):]), `"`)}}
	}
	body := strings.TrimSpace(line)
	if body == "" || strings.HasPrefix(body, "#") {
		return above
	}
	indent := indentOf(line)
	body = strings.TrimSpace(line[indent:])
	for strings.HasPrefix(body, "- ") || body == "-" {
		number := 0
		for len(above) > 0 && above[len(above)-1].indent > indent {
			above = above[:len(above)-1]
		}
		if n := len(above); n > 0 && above[n-1].indent == indent && above[n-1].isItem() {
			number = above[n-1].item + 1
			above = above[:n-1]
		}
		above = append(above, level{indent, fmt.Sprintf("[%d]", number), number})
		rest := strings.TrimLeft(body[1:], " ")
		indent += len(body) - len(rest)
		body = rest
	}
	key, _, isKey := strings.Cut(body+" ", ": ")
	if !isKey {
		return above
	}
	for n := len(above); n > 0 && above[n-1].indent >= indent; n-- {
		above = above[:n-1]
	}
	return append(above, level{indent: indent, name: strings.Trim(strings.TrimSpace(key), `"'`)})
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// joined formats the levels as routes[0].limits.
func joined(levels []level) string {
	var path strings.Builder
	for _, l := range levels {
		if path.Len() > 0 && !l.isItem() {
			path.WriteByte('.')
		}
		path.WriteString(cleaned(l.name, maxKeyPath))
		if path.Len() > maxKeyPath {
			return cleaned(path.String(), maxKeyPath) + "…"
		}
	}
	return path.String()
}
