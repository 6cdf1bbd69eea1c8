package elastic

import (
	"bytes"
	"math"
)

// weight counts constructs in the source of a script.
type weight struct {
	loops     int     // number of loops
	deepest   int     // maximum nesting of loops
	chained   int     // maximum number of ternaries in one statement
	largest   float64 // largest number that a loop counts to
	endless   bool
	called    int  // additional nesting through functions, if each is called from a loop of another
	functions bool // functions are defined in unusual places: all loops count as nested
	code      int  // bytes without spaces and comments
}

// total returns 1 for a short script, plus 1 for each KiB and each loop. Each level of
// nested loops doubles the cost, as does each ternary beyond the eighth in one statement,
// which doubles the compile time. A loop that counts to n adds n/1000. A loop without a
// bound is unbounded.
func (w *weight) total() float64 {
	if w.endless {
		return math.Inf(1)
	}
	sum, deepest := 1+math.Floor(float64(w.code)/1024), min(w.deepest+w.called, w.loops)
	if w.functions {
		deepest = w.loops
	}
	if w.loops > 0 {
		sum += math.Exp2(min(float64(deepest), 64)) + float64(w.loops-deepest) + w.largest/1000
	}
	if w.chained > 8 {
		sum += math.Exp2(min(float64(w.chained-8), 64))
	}
	return sum
}

const maxBlocks = 32 // maximum tracked nesting; deeper loops count as nested

// weigher reads a script once.
type weigher struct {
	weight
	block
	blocks [maxBlocks]block
	depth  int
	closed bool // a block has just ended; its statement ends too unless it continues
	before byte // the last read byte
	body   bool // inside a function's body
	own    int  // nesting of loops in that function
}

// block is the state of an open block.
type block struct {
	outside   int // loops around the block
	here      int // loops that the current statement began
	parens    int
	ternaries int  // of the current statement and its enclosing ones
	head      bool // the statement has a word like if, after which a block follows
}

func weigh(s []byte) weight {
	var w weigher
	for i := 0; i < len(s); {
		from := i
		switch c := s[i]; {
		case c <= ' ':
			i++
			continue
		case c == '"' || c == '\'':
			i = quoteEnd(s, i+1, c)
		case c == '/' && i+1 < len(s) && (s[i+1] == '/' || s[i+1] == '*'):
			i = commentEnd(s, i)
			continue
		case c == '/':
			i = w.slash(s, i)
		case isLetter(c):
			end := i
			for end < len(s) && (isLetter(s[end]) || s[end] >= '0' && s[end] <= '9') {
				end++
			}
			w.word(s[i:end], s[end:])
			i = end
		case c == '?' && !(i+1 < len(s) && (s[i+1] == '.' || s[i+1] == ':')):
			w.ternaries++
			w.chained = max(w.chained, w.ternaries)
			i++
		default:
			w.punctuation(c)
			i++
		}
		w.before = s[min(i, len(s))-1]
		w.code += i - from
	}
	w.called += w.own
	return w.weight
}

// commentEnd reads no further than the end of the comment, because one line may contain
// many.
func commentEnd(s []byte, i int) int {
	mark, behind := "\n", 0
	if s[i+1] == '*' {
		mark, behind = "*/", len("*/")
	}
	end := bytes.Index(s[i+2:], []byte(mark))
	if end < 0 {
		return len(s)
	}
	return i + 2 + end + behind
}

// slash skips a regular expression between slashes, where a division is impossible.
func (w *weigher) slash(s []byte, i int) int {
	if isLetter(w.before) || w.before >= '0' && w.before <= '9' || w.before == ')' || w.before == ']' {
		return i + 1
	}
	return quoteEnd(s, i+1, '/')
}

func (w *weigher) word(word, behind []byte) {
	switch string(word) {
	case "else", "catch", "finally":
		w.closed = false
	default:
		w.open()
	}
	w.head = w.head || isLoop(word) || isHead(word)
	if !isLoop(word) {
		return
	}
	w.loops++
	w.here++
	if w.body {
		w.own = max(w.own, w.outside+w.here)
	} else {
		w.deepest = max(w.deepest, w.outside+w.here)
	}
	w.endless = w.endless || endless(behind)
	w.largest = max(w.largest, largestIn(behind[:min(len(behind), maxHeader)]))
}

// open begins a statement after the end of a block.
func (w *weigher) open() {
	if w.closed {
		w.closed = false
		w.statement()
	}
}

// punctuation ends statements, and starts and ends blocks. A block inside parentheses is
// part of the enclosing statement.
func (w *weigher) punctuation(c byte) {
	if c != '}' && c != '{' {
		w.open()
	}
	switch c {
	case '(':
		w.parens++
	case ')':
		w.parens = max(0, w.parens-1)
	case ';':
		if w.parens == 0 {
			w.statement()
		}
	case '{':
		if w.before == ')' && !w.head { // its caller may call it in a loop
			w.functions = w.functions || w.depth > 0
			w.body = w.body || w.depth == 0
		}
		if w.depth < maxBlocks {
			w.blocks[w.depth] = w.block
			w.block = block{outside: w.outside + w.here, ternaries: w.ternaries}
		}
		w.depth++
	case '}':
		if w.depth = max(0, w.depth-1); w.depth < maxBlocks {
			w.block = w.blocks[w.depth]
			w.closed = w.parens == 0
		}
		if w.depth == 0 && w.body {
			w.called, w.own, w.body = w.called+w.own, 0, false
		}
	}
}

// statement begins another statement.
func (w *weigher) statement() {
	if w.depth > maxBlocks {
		return
	}
	w.here, w.ternaries, w.head = 0, 0, false
	if w.depth > 0 {
		w.ternaries = w.blocks[w.depth-1].ternaries
	}
}

const maxHeader = 128 // bytes of a loop's header that are read

// largestIn returns the largest number in the parentheses at the start of s.
func largestIn(s []byte) float64 {
	largest, depth := 0.0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth <= 0 {
				return largest
			}
		case depth > 0 && c >= '0' && c <= '9':
			end := i
			for end < len(s) && s[end] >= '0' && s[end] <= '9' {
				end++
			}
			if v, ok := parseNumber(s[i:end]); ok {
				largest = max(largest, v)
			}
			i = end - 1
		case depth == 0 && c > ' ':
			return 0
		}
	}
	return largest
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

func isLoop(word []byte) bool {
	switch string(word) {
	case "for", "while", "do", "each", "forEach", "times":
		return true
	}
	return false
}

// isHead reports whether a block in braces follows the parentheses after a word.
func isHead(word []byte) bool {
	switch string(word) {
	case "if", "else", "switch", "catch", "synchronized":
		return true
	}
	return false
}

// endless reports whether (true) or (;;) follows the word.
func endless(s []byte) bool {
	var head [8]byte
	n := 0
	for i := 0; i < len(s) && i < 64 && n < len(head); i++ {
		if s[i] > ' ' {
			head[n] = s[i]
			n++
		}
	}
	text := head[:n]
	return bytes.HasPrefix(text, []byte("(true)")) || bytes.HasPrefix(text, []byte("(;;")) || bytes.HasPrefix(text, []byte("(1)"))
}
