package elastic

type atomKind uint8

const (
	atomLiteral atomKind = iota
	atomAny              // . @ ~
	atomClass
	atomOpen
	atomClose
	atomOr
	atomSkip // ^ and $: people write them although Lucene anchors implicitly
)

type atom struct {
	kind atomKind
	end  int
}

func atomAt(p []byte, i int) atom {
	switch p[i] {
	case '(':
		if i+2 < len(p) && p[i+1] == '?' { // (?: and (?i), which Lucene does not support
			for j := i + 2; j < min(len(p), i+16); j++ {
				if p[j] == ':' {
					return atom{atomOpen, j + 1}
				}
				if p[j] == ')' {
					return atom{atomSkip, j + 1}
				}
			}
		}
		return atom{atomOpen, i + 1}
	case ')':
		return atom{atomClose, i + 1}
	case '|', '&':
		return atom{atomOr, i + 1}
	case '^', '$':
		return atom{atomSkip, i + 1}
	case '.', '@', '~', '#':
		return atom{atomAny, i + 1}
	case '[':
		return atom{atomClass, classEnd(p, i)}
	case '"':
		for j := i + 1; j < len(p); j++ {
			if p[j] == '"' {
				return atom{atomLiteral, j + 1}
			}
		}
	case '<': // a numeric interval
		for j := i + 1; j < len(p) && j < i+32; j++ {
			if p[j] == '>' {
				return atom{atomClass, j + 1}
			}
		}
	case '\\':
		if i+1 >= len(p) {
			return atom{atomLiteral, i + 1}
		}
		switch p[i+1] {
		case 'd', 'D', 'w', 'W', 's', 'S', 'p', 'P':
			return atom{atomClass, i + 2}
		}
		return atom{atomLiteral, i + 2}
	}
	return atom{atomLiteral, i + 1}
}

func classEnd(p []byte, i int) int {
	for j := i + 1; j < len(p); j++ {
		switch p[j] {
		case '\\':
			j++
		case ']':
			if j > i+1 {
				return j + 1
			}
		}
	}
	return len(p)
}

type quantifier struct {
	end       int
	optional  bool // may match the empty text
	unbounded bool
	counted   bool
	varied    bool // {n,m}
	max       float64
}

func (q quantifier) count() float64 {
	if q.counted {
		return max(1, q.max)
	}
	return 1
}

// quantifierAt reads the quantifiers after an atom. Several quantifiers multiply.
func quantifierAt(p []byte, i int) quantifier {
	q := quantifier{end: i, max: 1}
	for q.end < len(p) {
		switch p[q.end] {
		case '*':
			q.optional, q.unbounded = true, true
		case '+':
			q.unbounded = true
		case '?':
			q.optional = true
		case '{':
			lo, hi, end, ok := bracesAt(p, q.end)
			if !ok {
				return q
			}
			q.counted, q.max = true, q.max*max(1, max(lo, hi))
			q.varied = q.varied || lo != hi
			q.optional = q.optional || lo == 0
			q.unbounded = q.unbounded || hi < 0
			q.end = end
			continue
		default:
			return q
		}
		q.end++
	}
	return q
}

// bracesAt reads {n}, {n,} (hi is negative) or {n,m}.
func bracesAt(p []byte, i int) (lo, hi float64, end int, ok bool) {
	number := func(j int) (float64, int) {
		v, from := 0.0, j
		for j < len(p) && p[j] >= '0' && p[j] <= '9' {
			v = v*10 + float64(p[j]-'0')
			j++
		}
		if j == from {
			return -1, j
		}
		return v, j
	}
	lo, j := number(i + 1)
	hi = lo
	if j < len(p) && p[j] == ',' {
		hi, j = number(j + 1)
		lo = max(lo, 0)
	}
	if j >= len(p) || p[j] != '}' || lo < 0 {
		return 0, 0, i, false
	}
	return lo, hi, j + 1, true
}
