package crash

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Config says which code is the own code of the user. The zero value uses the rules of
// each language.
type Config struct {
	// Root is the folder of the project. A frame in an absolute file below it is the
	// user's own, unless the rules of the language say otherwise for the rest of the path.
	// A frame in another absolute file is not.
	Root string
	// Own and Library override the rules of the languages, Own before Library. A pattern
	// matches a frame if its file contains it as whole folders or files ("internal/gen",
	// "*.pb.go"), or if its module or function begins with it ("com.acme.").
	Own     []string
	Library []string
}

// Validate reports every fault of c at once.
func (c Config) Validate() error {
	var errs []error
	for _, l := range []struct {
		name     string
		patterns []string
	}{{"Own", c.Own}, {"Library", c.Library}} {
		for i, pat := range l.patterns {
			if pat == "" {
				errs = append(errs, fmt.Errorf("%s[%d]: is empty, which would match every frame", l.name, i))
			} else if _, err := path.Match(pat, ""); err != nil {
				errs = append(errs, fmt.Errorf("%s[%d]: %q is not a pattern: %w", l.name, i, pat, err))
			}
		}
	}
	return errors.Join(errs...)
}

// library decides about one frame.
func (p *Parser) library(lang *language, f Frame) bool {
	if matchesAny(p.c.Own, f) {
		return false
	}
	if matchesAny(p.c.Library, f) {
		return true
	}
	if p.c.Root != "" && isAbs(f.File) {
		rest, ok := strings.CutPrefix(withSlashes(f.File), strings.TrimSuffix(withSlashes(p.c.Root), "/")+"/")
		if !ok {
			return true
		}
		f.File = rest
	}
	return lang.library != nil && lang.library(f)
}

func matchesAny(patterns []string, f Frame) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, f) })
}

func matches(pat string, f Frame) bool {
	if f.Module != "" && strings.HasPrefix(f.Module, pat) || f.Function != "" && strings.HasPrefix(f.Function, pat) {
		return true
	}
	file := withSlashes(f.File)
	if ok, _ := path.Match(pat, path.Base(file)); ok {
		return true
	}
	return strings.Contains("/"+file+"/", "/"+strings.Trim(pat, "/")+"/")
}

func withSlashes(file string) string { return strings.ReplaceAll(file, `\`, "/") }

func isAbs(file string) bool {
	return strings.HasPrefix(file, "/") || len(file) > 2 && file[1] == ':' && (file[2] == '\\' || file[2] == '/')
}
