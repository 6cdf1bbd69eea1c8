package redos

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxDepth limits the nesting of groups, and so the depth of every recursion.
const maxDepth = 250

// maxNodes limits the size of the tree.
const maxNodes = 2 * MaxPattern

// flags holds the inline flags in force.
type flags struct {
	fold, multi, dotall, extended, ascii, unicodeClasses bool
	unicode                                              bool // JavaScript's u and v
	sets                                                 bool // JavaScript's v
	quiet                                                bool // .NET's (?n): plain groups do not capture
}

type fault struct {
	what string
	at   int
}

// parser parses the union of the dialects. If one dialect rejects a construct that another
// accepts, the parser accepts it with that meaning.
type parser struct {
	src     string
	pos     int
	dialect Dialect
	flags   flags
	depth   int
	nodes   int
	tree    tree
	names   map[string]int
	refs    []*node // backreferences by name, to be resolved
	refTo   []string
	closed  int // number of groups counted in advance
	err     *fault

	folded, properties map[string]set // cache
}

func parse(src string, o Options) (*tree, *fault) {
	p := &parser{src: src, dialect: o.Dialect, names: map[string]int{}}
	p.tree.groups = []*node{nil}
	p.setFlags(o.Flags)
	p.closed = p.countGroups()
	p.directives()
	root := p.alternatives()
	if p.err == nil && p.pos < len(p.src) {
		p.fail("unmatched )")
	}
	if p.err != nil {
		return nil, p.err
	}
	p.resolve()
	p.tree.root = root
	p.tree.words = p.wordRunes()
	p.tree.lines = p.newlines()
	return &p.tree, nil
}

func (p *parser) setFlags(letters string) {
	f := &p.flags
	if p.dialect == Ruby {
		f.multi = true
	}
	f.fold = p.dialect == MySQL && !strings.Contains(letters, "c")
	f.dotall = p.dialect.is(Postgres, Lucene)
	for _, r := range letters {
		p.setFlag(r, true)
	}
}

func (p *parser) setFlag(r rune, on bool) bool {
	f := &p.flags
	switch r {
	case 'i':
		f.fold = on
	case 'm':
		if p.dialect == Ruby {
			f.dotall = on
		} else {
			f.multi = on
		}
	case 's':
		f.dotall = on
	case 'x':
		f.extended = on && p.dialect != JS
	case 'u':
		f.unicode = on && p.dialect == JS
		f.unicodeClasses = on && p.dialect == PCRE
		if p.dialect == Python {
			f.ascii = !on
		}
	case 'v':
		f.unicode, f.sets = on, on
	case 'a':
		f.ascii = on
	case 'U':
		f.unicodeClasses = on && p.dialect == Java
	case 'n':
		switch p.dialect {
		case DotNet:
			f.quiet = on
		case Postgres:
			f.multi, f.dotall = on, !on
		default:
		}
	case 'w', 'p', 'q', 'b', 'e', 'c', 't', 'd', 'g', 'y', 'l', 'L', 'o', 'r', 'R', 'D', 'A', 'X', 'J', 'j', '^':
	default:
		return false
	}
	return true
}

// directives skips (*VERB) and Postgres' *** at the start.
func (p *parser) directives() {
	if p.dialect == Postgres && strings.HasPrefix(p.src, "***:") {
		p.pos = 4
	}
	for p.dialect == PCRE && strings.HasPrefix(p.rest(), "(*") {
		end := strings.IndexByte(p.rest(), ')')
		if end < 0 {
			return
		}
		p.pos += end + 1
	}
}

func (p *parser) rest() string { return p.src[p.pos:] }
func (p *parser) more() bool   { return p.err == nil && p.pos < len(p.src) }

func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

func (p *parser) take(prefix string) bool {
	if strings.HasPrefix(p.rest(), prefix) {
		p.pos += len(prefix)
		return true
	}
	return false
}

// next reads a rune. It reads a byte that is not valid UTF-8 as Latin-1.
func (p *parser) next() rune {
	r, n := utf8.DecodeRuneInString(p.rest())
	if r == utf8.RuneError && n == 1 {
		r = rune(p.src[p.pos])
	}
	p.pos += n
	return r
}

func (p *parser) fail(what string) *node {
	if p.err == nil {
		p.err = &fault{what, p.pos}
	}
	return &node{op: opEmpty}
}

func (p *parser) node(n node) *node {
	if p.nodes++; p.nodes > maxNodes {
		return p.fail("too many parts")
	}
	return &n
}

// alternatives parses up to the end or an unmatched ).
func (p *parser) alternatives() *node {
	if p.depth++; p.depth > maxDepth {
		return p.fail("groups nest too deep")
	}
	defer func() { p.depth-- }()
	start := p.pos
	subs := []*node{p.sequence()}
	for p.more() && p.peek() == '|' {
		p.pos++
		subs = append(subs, p.sequence())
	}
	if len(subs) == 1 || p.err != nil {
		return subs[0]
	}
	return p.merge(start, subs)
}

func (p *parser) sequence() *node {
	start := p.pos
	var subs []*node
	for p.more() {
		if p.skipBlank(); !p.more() {
			break
		}
		if c := p.peek(); c == '|' || c == ')' && p.depth > 1 {
			break
		} else if c == ')' {
			if !p.dialect.is(Postgres) {
				break
			}
		}
		if p.dialect == Lucene && p.take("&") { // both must match; the result matches at least as much
			continue
		}
		from := p.pos
		n := p.atom()
		if n == nil {
			continue
		}
		subs = append(subs, p.quantified(n, from))
	}
	return p.concat(start, subs)
}

// skipBlank skips text that free spacing ignores.
func (p *parser) skipBlank() {
	for p.flags.extended && p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == ' ' || c >= '\t' && c <= '\r':
			p.pos++
		case c == '#':
			end := strings.IndexByte(p.rest(), '\n')
			if end < 0 {
				p.pos = len(p.src)
				return
			}
			p.pos += end + 1
		default:
			return
		}
	}
}

// atom parses one item without its quantifier. It returns nil for a comment or inline
// flags.
func (p *parser) atom() *node {
	start := p.pos
	switch c := p.peek(); c {
	case '(':
		p.pos++
		return p.group(start)
	case '[':
		p.pos++
		if n := p.wordEdge(start); n != nil {
			return n
		}
		return p.class(start, p.bracket())
	case '\\':
		p.pos++
		return p.escape(start)
	case '.':
		p.pos++
		if p.flags.dotall {
			return p.class(start, allRunes())
		}
		return p.node(node{op: opClass, set: p.newlines().negate(), off: start})
	case '^', '$':
		if p.dialect == Lucene {
			break
		}
		p.pos++
		return p.anchor(c, start)
	case '"', '@', '#', '~', '<':
		if p.dialect == Lucene {
			return p.lucene(start)
		}
	}
	return p.class(start, one(p.next()))
}

// class creates a node that matches one rune of s.
func (p *parser) class(start int, s set) *node {
	if p.flags.fold {
		s = p.fold(s)
	}
	return p.node(node{op: opClass, set: s, plain: p.plain(start), off: start})
}

// few is the number of ranges up to which fold does not cache a set.
const few = 8

// fold adds the other cases of a set's runes. It caches results, because \p{L} has
// thousands of ranges and an expression may contain it ten thousand times.
func (p *parser) fold(s set) set {
	if len(s) <= few {
		return s.fold()
	}
	key := s.key()
	out, ok := p.folded[key]
	if !ok {
		if p.folded == nil {
			p.folded = map[string]set{}
		}
		out = slices.Clip(s.fold()) // appending must copy
		p.folded[key] = out
	}
	return out
}

func (p *parser) anchor(c byte, start int) *node {
	kind := atStart
	switch {
	case c == '^' && p.flags.multi:
		kind = atLineStart
	case c == '$' && p.flags.multi:
		kind = atLineEnd
	case c == '$' && p.dialect.is(JS, RE2, Postgres):
		kind = atEnd
	case c == '$':
		kind = atEndLine
	}
	return p.node(node{op: opAssert, assert: kind, off: start})
}

// resolve sets the groups of backreferences by name.
func (p *parser) resolve() {
	for i, ref := range p.refs {
		n, ok := p.names[p.refTo[i]]
		if !ok {
			*ref = node{op: opEmpty, off: ref.off}
			continue
		}
		ref.n = n
	}
}
