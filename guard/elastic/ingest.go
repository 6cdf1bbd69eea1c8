package elastic

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/redos"
)

// simulate measures the pipelines that a simulation brings along: their scripts and
// their expressions. What is in its documents is only text.
func (r *Reader) simulate(root int) {
	r.processing(r.get(root, "pipeline"))
	r.processing(r.get(root, "pipeline_substitutions"))
	if p := r.get(root, "grok_pattern"); p > none {
		r.grokPattern(p, none)
	}
}

// processing reads processors, wherever below n they are.
func (r *Reader) processing(n int) {
	if r.isArray(n) {
		for e := n + 1; e < r.next(n); e = r.next(e) {
			r.processing(e)
		}
		return
	}
	for k := n + 1; r.isObject(n) && k < r.next(n); k = r.next(k + 1) {
		v := k + 1
		switch string(r.bytes(k)) {
		case "script", "if":
			r.scriptValue(v)
		case "grok", "redact":
			r.grok(v)
		case "gsub", "split", "kv":
			for _, name := range [...]string{"pattern", "separator", "field_split", "value_split"} {
				if p := r.get(v, name); p > none && r.isText(p) {
					r.backtracks(p, string(r.bytes(p)), redos.Java, true)
				}
			}
		default:
			r.processing(v)
		}
	}
}

// grok measures expressions with names of others in them: %{NAME:field}. Those that
// are defined beside them are filled in; of those that backends bring along only
// the ones that repeat anything are known, and each other counts as one character
// of its own, which nothing else is.
func (r *Reader) grok(v int) {
	definitions := r.get(v, "pattern_definitions")
	r.each(r.get(v, "patterns"), func(e int) { r.grokPattern(e, definitions) })
}

func (r *Reader) grokPattern(n, definitions int) {
	if !r.isText(n) {
		return
	}
	g := grok{r: r, definitions: definitions}
	if !g.fill(r.bytes(n), 0) {
		m := r.add(cost.RegexExponential, math.Inf(1), n)
		if r.o.Explain {
			m.Detail = "definitions that lead back to themselves, or to too long an expression"
		}
		return
	}
	r.backtracks(n, g.out.String(), redos.Ruby, true)
}

// grok fills names in.
type grok struct {
	r           *Reader
	definitions int
	out         strings.Builder
	others      []string // names that are not known
}

const ownCharacters = 0xE000 // of Unicode's private use

const (
	maxNames  = 32  // in one another
	maxOthers = 256 // that are told apart
)

// fill appends an expression. It is false when names go round, or make it too
// long to look at.
func (g *grok) fill(p []byte, depth int) bool {
	for len(p) > 0 {
		if depth > maxNames || g.r.filled > maxWork || g.out.Len() > redos.MaxPattern {
			return false
		}
		at := bytes.Index(p, []byte("%{"))
		end := -1
		if at >= 0 {
			end = bytes.IndexByte(p[at:], '}')
		}
		if end < 0 {
			g.out.Write(p)
			return true
		}
		g.out.Write(p[:at])
		name, _, _ := bytes.Cut(p[at+2:at+end], []byte(":"))
		p = p[at+end+1:]
		g.r.filled += len(name) + 1
		if g.r.isObject(g.definitions) {
			g.r.filled += g.r.count(g.definitions)
		}
		if d := g.r.get(g.definitions, string(name)); d > none && g.r.isText(d) {
			g.out.WriteString("(?:")
			if !g.fill(g.r.bytes(d), depth+1) {
				return false
			}
			g.out.WriteByte(')')
			continue
		}
		if k := grokPattern(string(name)); k != "" {
			g.out.WriteString(k)
		} else {
			g.out.WriteRune(ownCharacters + g.other(string(name)))
		}
	}
	return true
}

// other is the number of a name.
func (g *grok) other(name string) rune {
	i := slices.Index(g.others, name)
	if i < 0 {
		i = len(g.others)
		if i < maxOthers {
			g.others = append(g.others, name)
		}
	}
	return rune(i)
}

// grokPattern is what a name stands for, for those that repeat anything.
func grokPattern(name string) string {
	switch name {
	case "WORD", "USER", "USERNAME":
		return `\b\w+\b`
	case "NOTSPACE":
		return `\S+`
	case "SPACE":
		return `\s*`
	case "DATA":
		return `.*?`
	case "GREEDYDATA":
		return `.*`
	}
	return ""
}
