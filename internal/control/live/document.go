package live

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// fileMark is the prefix of the line before a file in a version's text. It is YAML's
// separator of documents, which settings cannot contain.
const fileMark = "--- # bezoar file "

// MaxFiles is the maximum number of files that belong to one settings text.
const MaxFiles = 100

// Document is the content of a version's text: settings, and the files that they name. The
// format is
//
//	routes: [{match: {path: /*}, guard: {query: sql, limits: guard.yaml}}]
//	--- # bezoar file "guard.yaml"
//	rules: [{predictor: in_list, limit: 500}]
//
// so that history, sums, diffs and rollbacks cover both.
type Document struct {
	Text  []byte // of the settings
	Files []File // sorted by name
}

// File is one file, under its name in the settings.
type File struct {
	Name string
	Text []byte
}

// ParseDocument splits a version's text. The parts share its memory.
func ParseDocument(text []byte) (Document, error) {
	var d Document
	start, name := 0, "" // start and name of the current part
	end := func(at int) {
		part := text[start:at:at]
		if name == "" {
			d.Text = part
		} else {
			d.Files = append(d.Files, File{name, part})
		}
	}
	for at := nextMark(text, 0); at >= 0; at = nextMark(text, start) {
		end(at)
		line, _, _ := bytes.Cut(text[at:], []byte("\n"))
		quoted := strings.TrimRight(string(line[len(fileMark):]), "\r")
		var err error
		if name, err = strconv.Unquote(quoted); err != nil || name == "" || strconv.Quote(name) != quoted {
			return Document{}, fmt.Errorf("line %d: %.80q is not a file's name in quotes", 1+bytes.Count(text[:at], []byte("\n")), quoted)
		}
		if _, twice := d.File(name); twice {
			return Document{}, fmt.Errorf("line %d: the file %.80q is listed twice", 1+bytes.Count(text[:at], []byte("\n")), name)
		}
		if len(d.Files) == MaxFiles {
			return Document{}, fmt.Errorf("there are more than %d files", MaxFiles)
		}
		start = min(at+len(line)+1, len(text))
	}
	end(len(text))
	sorted.Func(d.Files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return d, nil
}

// nextMark returns the start of the next line with the mark, or -1. from must be the start
// of a line.
func nextMark(text []byte, from int) int {
	if bytes.HasPrefix(text[from:], []byte(fileMark)) {
		return from
	}
	if at := bytes.Index(text[from:], []byte("\n"+fileMark)); at >= 0 {
		return from + at + 1
	}
	return -1
}

// Bytes returns the text of a version. Each part except the last ends with a line break.
func (d Document) Bytes() []byte {
	if len(d.Files) == 0 {
		return bytes.Clone(d.Text)
	}
	out := ended(bytes.Clone(d.Text))
	for _, f := range d.Files {
		out = append(out, fileMark+strconv.Quote(f.Name)+"\n"...)
		out = append(out, ended(f.Text)...)
	}
	return out
}

// ended returns text with a final line break.
func ended(text []byte) []byte {
	if n := len(text); n > 0 && text[n-1] != '\n' {
		return append(text[:n:n], '\n')
	}
	return text
}

func (d Document) File(name string) (text []byte, ok bool) {
	for _, f := range d.Files {
		if f.Name == name {
			return f.Text, true
		}
	}
	return nil, false
}

// With returns d with another content of one of its files.
func (d Document) With(name string, text []byte) Document {
	d.Files = slices.Clone(d.Files)
	for i := range d.Files {
		if d.Files[i].Name == name {
			d.Files[i].Text = text
		}
	}
	return d
}

// sums returns the sums of the parts, by name; "" is the settings.
func (d Document) sums() map[string]string {
	out := map[string]string{"": Sum(ended(d.Text))}
	for _, f := range d.Files {
		out[f.Name] = Sum(ended(f.Text))
	}
	return out
}

// documentOf returns the content of v. A text that cannot be split is returned as settings
// only, which are then invalid.
func documentOf(v Version) Document {
	d, err := ParseDocument(v.Text)
	if err != nil {
		return Document{Text: v.Text}
	}
	return d
}

// checkPart returns an error if the content of a file cannot be part of a document.
func checkPart(text []byte) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return errEmpty
	}
	if nextMark(text, 0) >= 0 {
		return errors.New("a line begins with " + strconv.Quote(fileMark) + ": this is the text of a version, not a file; use bezoar config apply")
	}
	return nil
}

// complete adds the files that d's settings name and d does not contain. It returns an
// error for a file that find does not find, and for a file that the settings do not name.
func complete(d Document, names []string, find func(name string) ([]byte, error)) (Document, error) {
	out := Document{Text: d.Text}
	var faults []error
	for _, name := range names {
		text, ok := d.File(name)
		if !ok {
			var err error
			if text, err = find(name); err != nil {
				faults = append(faults, fmt.Errorf("the settings name the file %s, which is in no version and not on this node: %w", name, err))
			}
		}
		out.Files = append(out.Files, File{name, text})
	}
	for _, f := range d.Files {
		if !slices.Contains(names, f.Name) {
			faults = append(faults, fmt.Errorf("the settings do not name the file %s", f.Name))
		}
	}
	return out, errors.Join(faults...)
}

// names returns the files that belong to a settings text, in order.
func (l *Live) names(text []byte) []string {
	names := slices.DeleteFunc(slices.Clone(l.config.Files(text)), func(n string) bool { return n == "" || len(n) > maxNote })
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), MaxFiles)]
}
