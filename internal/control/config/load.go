package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// Limits of a settings file.
const (
	MaxFileSize  = 1 << 20 // bytes
	maxDepth     = 32      // of nested lists and mappings
	maxNodes     = 20_000  // values, counting each use of an alias
	maxEntries   = 1000    // entries of one list or mapping
	maxTextBytes = 8 << 10 // bytes of one value
)

// Load reads the file at path. edit, if not nil, changes the settings after parsing and
// before the final checks.
func Load(path string, edit func(*Config)) (Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return Config{}, fmt.Errorf("read settings: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err != nil {
		return Config{}, fmt.Errorf("read settings: %w", err)
	}
	return ParseEdited(path, data, edit)
}

// Parse parses settings from data. name is the file name in faults. The error is a
// [*Faults] that lists all faults.
func Parse(name string, data []byte) (Config, error) { return ParseEdited(name, data, nil) }

// ParseEdited is Parse with an edit, as in [Load].
func ParseEdited(name string, data []byte, edit func(*Config)) (Config, error) {
	root, flaw := load(data, MaxFileSize)
	if flaw != nil {
		flaw.File = name
		return Config{}, faultsError([]Fault{*flaw})
	}
	d := &decoder{places: map[string]place{}}
	var c Config
	d.root(root, &c)
	if edit != nil {
		edit(&c)
	}
	c.fill()
	if !d.full { // otherwise unread values would be reported as missing
		for _, v := range c.check() {
			if !d.explained(v) {
				d.faults = append(d.faults, d.locate(v.Fault))
			}
		}
	}
	for i := range d.faults {
		d.faults[i].File = name
	}
	if err := faultsError(d.faults); err != nil {
		return Config{}, err
	}
	return c, nil
}

// load parses data to the root node of its only document. The node is nil if the document
// is empty.
func load(data []byte, most int) (*yaml.Node, *Fault) {
	if len(data) > most {
		return nil, &Fault{
			Problem: fmt.Sprintf("the file is larger than %v", Size(most)),
			Fix:     "check that this is the right file",
		}
	}
	if f := checkText(data); f != nil {
		return nil, f
	}
	l, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	if err != nil {
		return nil, syntaxFault(err)
	}
	var doc, second yaml.Node
	if err := l.Load(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, syntaxFault(err)
	}
	if err := l.Load(&second); err == nil {
		return nil, &Fault{
			Line: second.Line, Column: max(second.Column, 1),
			Problem: "a second document begins here", Fix: "keep one and remove the --- line",
		}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxFault(err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// checkText finds bytes that are not text. The YAML parser would reject them too, but
// without a position.
func checkText(data []byte) *Fault {
	line, column := 1, 1
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return &Fault{Line: line, Column: column, Problem: fmt.Sprintf("byte 0x%02x is not UTF-8", data[i]), Fix: "save the file as UTF-8"}
		case r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f:
			return &Fault{Line: line, Column: column, Problem: fmt.Sprintf("control character 0x%02x", r), Fix: "remove it, or write it as an escape in double quotes"}
		case r == '\n':
			line, column = line+1, 0
		}
		column++
		i += n
	}
	return nil
}

// syntaxFault converts an error of the YAML parser.
func syntaxFault(err error) *Fault {
	f := &Fault{Problem: "is not YAML: " + err.Error()}
	var le *yaml.LoadError
	if !errors.As(err, &le) {
		return f
	}
	f.Problem = "is not YAML: " + le.Message
	mark := le.Mark
	if le.ContextMark.Line > 0 && le.ContextMsg != "" && strings.Contains(le.Message, "did not find expected") {
		// The unclosed construct is more helpful than the place where the parser gave up.
		f.Problem = fmt.Sprintf("is not YAML: %s (%s)", le.Message, le.ContextMsg)
		mark = le.ContextMark
	}
	if mark.Line > 0 {
		f.Line, f.Column = mark.Line, max(mark.Column, 1)
	}
	f.Fix = "check brackets, quotes and indentation here"
	switch {
	case strings.Contains(le.Message, "cannot start any token"):
		f.Fix = "indent with spaces, and quote values that begin with a special character"
	case strings.Contains(le.Message, "mapping values are not allowed"):
		f.Fix = "quote the value: it contains a colon and a space"
	case strings.Contains(le.Message, "unknown anchor"):
		f.Fix = "define the anchor with & before it is used, or quote the value"
	case strings.Contains(le.Message, "depth"):
		f.Fix = "reduce the nesting"
	}
	return f
}
