package live

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// fileMark begins the line before a file in a version's text. As it is YAML's
// line between documents, settings cannot have it.
const fileMark = "--- # bezoar file "

// MaxFiles bounds the files that go with one text of settings.
const MaxFiles = 100

// Document is what the text of a version holds: settings, and the files that
// they name and that go with them. Its form is
//
//	routes: [{match: {path: /*}, guard: {query: sql, limits: guard.yaml}}]
//	--- # bezoar file "guard.yaml"
//	rules: [{predictor: in_list, limit: 500}]
//
// so that history, sums, diffs and rollbacks are of both.
type Document struct {
	Text  []byte // of the settings
	Files []File // by name
}

// File is one file as it was, under the name that the settings have for it.
type File struct {
	Name string
	Text []byte
}

// ParseDocument takes a version's text apart. Each part shares its memory.
func ParseDocument(text []byte) (Document, error) {
	var d Document
	start, name := 0, "" // of the part that is being read
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
			return Document{}, fmt.Errorf("line %d: the file %.80q is there twice", 1+bytes.Count(text[:at], []byte("\n")), name)
		}
		if len(d.Files) == MaxFiles {
			return Document{}, fmt.Errorf("there are more than %d files", MaxFiles)
		}
		start = min(at+len(line)+1, len(text))
	}
	end(len(text))
	slices.SortFunc(d.Files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return d, nil
}

// nextMark is where a line begins that has the mark, from a line's beginning on,
// or -1.
func nextMark(text []byte, from int) int {
	if bytes.HasPrefix(text[from:], []byte(fileMark)) {
		return from
	}
	if at := bytes.Index(text[from:], []byte("\n"+fileMark)); at >= 0 {
		return from + at + 1
	}
	return -1
}

// Bytes puts the text of a version together. A part that something follows ends
// with a line break.
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

// ended is text with a line break at its end.
func ended(text []byte) []byte {
	if n := len(text); n > 0 && text[n-1] != '\n' {
		return append(text[:n:n], '\n')
	}
	return text
}

// File is the content of one of the files.
func (d Document) File(name string) (text []byte, ok bool) {
	for _, f := range d.Files {
		if f.Name == name {
			return f.Text, true
		}
	}
	return nil, false
}

// With is d with another content of one of its files.
func (d Document) With(name string, text []byte) Document {
	d.Files = slices.Clone(d.Files)
	for i := range d.Files {
		if d.Files[i].Name == name {
			d.Files[i].Text = text
		}
	}
	return d
}

// sums are those of the parts, by name; that of the settings is "".
func (d Document) sums() map[string]string {
	out := map[string]string{"": Sum(ended(d.Text))}
	for _, f := range d.Files {
		out[f.Name] = Sum(ended(f.Text))
	}
	return out
}

// documentOf is what v holds. What cannot be taken apart is settings alone,
// which then are invalid.
func documentOf(v Version) Document {
	d, err := ParseDocument(v.Text)
	if err != nil {
		return Document{Text: v.Text}
	}
	return d
}

// checkPart says why what a file says can be no part of a document.
func checkPart(text []byte) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return errEmpty
	}
	if nextMark(text, 0) >= 0 {
		return errors.New("a line begins with " + strconv.Quote(fileMark) + ": this is the text of a version, which bezoar config apply takes, and no file by itself")
	}
	return nil
}

// complete adds the files that d's settings name and d does not have, from
// wherever there is one; what none is found of, is an error, and so is a file
// that nothing names.
func complete(d Document, names []string, find func(name string) ([]byte, error)) (Document, error) {
	out := Document{Text: d.Text}
	var faults []error
	for _, name := range names {
		text, ok := d.File(name)
		if !ok {
			var err error
			if text, err = find(name); err != nil {
				faults = append(faults, fmt.Errorf("the file %s is named, and is in no version and not here: %w", name, err))
			}
		}
		out.Files = append(out.Files, File{name, text})
	}
	for _, f := range d.Files {
		if !slices.Contains(names, f.Name) {
			faults = append(faults, fmt.Errorf("the file %s is there, and nothing names it", f.Name))
		}
	}
	return out, errors.Join(faults...)
}

// names are the files that belong to a text of settings, in order.
func (l *Live) names(text []byte) []string {
	names := slices.DeleteFunc(slices.Clone(l.config.Files(text)), func(n string) bool { return n == "" || len(n) > maxNote })
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), MaxFiles)]
}
