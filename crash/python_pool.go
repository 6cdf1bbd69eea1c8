package crash

import "strings"

// pyPooled names the installed package of a frame where the message names what
// is missing: the outermost frames come first, so that traces that were cut
// off end at any of them, and the words are the same at each.
func pyPooled(f Frame, e exception, reason string) string {
	switch pyKind(e) {
	case "ImportError":
		if e.code == "" {
			return ""
		}
	default:
		if !spoken(reason, " has no attribute '", "name '", " keyword argument '") {
			return ""
		}
	}
	return pyPackage(f.File)
}

// pyPackage returns the folder or module below the folder that packages are
// installed to; "" for what is not installed that way.
func pyPackage(file string) string {
	p := strings.ReplaceAll(file, `\`, "/")
	for _, s := range []string{"site-packages/", "dist-packages/"} {
		if at := strings.LastIndex(p, s); at >= 0 {
			p = p[at+len(s):]
			if egg := strings.Index(p, ".egg/"); egg >= 0 {
				p = p[egg+len(".egg/"):]
			}
			first, _, _ := strings.Cut(p, "/")
			return strings.TrimSuffix(first, ".py")
		}
	}
	p = strings.TrimPrefix(p, ".../")
	if first, _, deep := strings.Cut(p, "/"); deep && listed(pyWellKnown, strings.ToLower(first)) {
		return first
	}
	return ""
}
