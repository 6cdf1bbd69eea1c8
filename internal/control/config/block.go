package config

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Block is a text in the settings that is written as a block:
//
//	rules: |
//	  dial: 50%
type Block struct {
	Line   int // number of its first line, from 1
	Indent int // indentation of its lines
	Text   string

	from, to int // byte range of its lines
}

// FindBlock finds the block at a path such as routes[0].guard.rules. It does not find texts
// in another notation, or in an anchor.
func FindBlock(data []byte, path string) (Block, bool) {
	root, fault := load(data, MaxFileSize)
	if fault != nil || root == nil {
		return Block{}, false
	}
	key, value := follow(root, path)
	if key == nil || value.Kind != yaml.ScalarNode || value.Style&yaml.LiteralStyle == 0 || value.Line != key.Line {
		return Block{}, false
	}
	b := Block{Line: value.Line + 1, Text: value.Value}
	lines := bytes.SplitAfter(data, []byte("\n"))
	if value.Line > len(lines) || !plainHeader(lines[value.Line-1]) {
		return Block{}, false
	}
	for _, l := range lines[:value.Line] {
		b.from += len(l)
	}
	b.to = b.from
	at := b.from
	for _, l := range lines[value.Line:] {
		at += len(l)
		if len(bytes.TrimSpace(l)) == 0 {
			continue
		}
		indent := len(l) - len(bytes.TrimLeft(l, " "))
		if indent < key.Column { // columns count from 1
			break
		}
		b.Indent = cmp.Or(b.Indent, indent)
		b.to = at
	}
	return b, b.Indent > 0
}

// plainHeader reports whether a block's first line ends with |, |- or |+, without an
// indentation indicator.
func plainHeader(line []byte) bool {
	line, _, _ = bytes.Cut(line, []byte(" #"))
	word := string(line[max(0, bytes.LastIndexByte(line, ' ')):])
	switch strings.TrimSpace(word) {
	case "|", "|-", "|+":
		return true
	}
	return false
}

// Replace returns data with another text in the block.
func (b Block) Replace(data []byte, path, text string) ([]byte, error) {
	var out bytes.Buffer
	out.Write(data[:b.from])
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		if strings.TrimSpace(line) != "" {
			out.WriteString(strings.Repeat(" ", b.Indent))
		}
		out.WriteString(line)
	}
	out.Write(data[b.to:])
	got, ok := FindBlock(out.Bytes(), path)
	if !ok || strings.TrimRight(got.Text, "\n") != strings.TrimRight(text, "\n") {
		return nil, fmt.Errorf("%s: the text cannot be written as a block of the settings: start its first line without spaces, or use a file instead", path)
	}
	return out.Bytes(), nil
}

func follow(n *yaml.Node, path string) (key, value *yaml.Node) {
	for rest := path; rest != ""; {
		var name string
		if index, after, ok := strings.Cut(rest, "]"); ok && strings.HasPrefix(rest, "[") {
			i, err := strconv.Atoi(index[1:])
			if err != nil || n.Kind != yaml.SequenceNode || i < 0 || i >= len(n.Content) {
				return nil, nil
			}
			n, rest = n.Content[i], strings.TrimPrefix(after, ".")
			continue
		}
		if end := strings.IndexAny(rest, ".["); end >= 0 {
			name, rest = rest[:end], strings.TrimPrefix(rest[end:], ".")
		} else {
			name, rest = rest, ""
		}
		if n.Kind != yaml.MappingNode {
			return nil, nil
		}
		key = nil
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				key, n = n.Content[i], n.Content[i+1]
				break
			}
		}
		if key == nil {
			return nil, nil
		}
	}
	return key, n
}
