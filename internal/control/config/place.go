package config

import (
	"cmp"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// explained reports whether an earlier fault already explains v: a fault at its field,
// around it or inside it, or at or around a field that it depends on.
func (d *decoder) explained(v finding) bool {
	for _, f := range d.faults {
		if within(v.Path, f.Path) || within(f.Path, v.Path) {
			return true
		}
		for _, dep := range v.deps {
			if within(dep, f.Path) {
				return true
			}
		}
	}
	return false
}

// within reports whether the field inner is outer or part of it.
func within(inner, outer string) bool {
	rest, ok := strings.CutPrefix(inner, outer)
	return ok && (rest == "" || outer == "" || rest[0] == '.' || rest[0] == '[')
}

// locate sets the position of f: that of its field, or of the nearest enclosing field in
// the file.
func (d *decoder) locate(f Fault) Fault {
	for path := f.Path; ; path = parent(path) {
		if p, ok := d.places[path]; ok {
			f.Line, f.Column = p.line, p.column
			return f
		}
		if path == "" {
			return f
		}
	}
}

func parent(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

// Place sets the file and the position of faults of settings whose text is data: the position of the field, or of the nearest
// enclosing field in the text. It sorts them by their positions.
func Place(name string, data []byte, list []Fault) {
	root, flaw := load(data, MaxFileSize)
	for i := range list {
		f := &list[i]
		f.File = name
		for path := f.Path; path != "" && root != nil && flaw == nil && f.Line == 0; path = parent(path) {
			if key, _ := follow(root, path); key != nil {
				f.Line, f.Column = key.Line, key.Column
			}
		}
	}
	sorted.StableFunc(list, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
