package elastic

import "bytes"

// luceneRange reads [a TO b], {a TO b} and mixed forms.
func (r *Reader) luceneRange(text []byte, i int, s *syntax) int {
	end := i + 1
	for end < len(text) && text[end] != ']' && text[end] != '}' {
		end++
	}
	if r.qs.fielded && s.every && r.qs.depth == 0 && !r.qs.negate {
		lo, hi, ok := bytes.Cut(text[i+1:end], []byte(" TO "))
		if ok {
			r.bound(r.qs.field, luceneBound(lo), luceneBound(hi))
		}
	}
	r.luceneTerm(plain)
	return min(end+1, len(text))
}

// luceneCompared reads the value of a comparison: at:>=2024-01-01.
func (r *Reader) luceneCompared(b []byte, s *syntax) {
	q := &r.qs
	if q.compared == 0 || !q.fielded || !s.every || q.depth > 0 || q.negate {
		return
	}
	if v := parseValue(b, nil); q.compared == '>' {
		r.bound(q.field, v, value{})
	} else {
		r.bound(q.field, value{}, v)
	}
}

func luceneBound(b []byte) value {
	b = bytes.Trim(b, " \"")
	if len(b) == 0 || string(b) == "*" {
		return value{}
	}
	return parseValue(b, nil)
}

// luceneOperator skips spaces, and the comparison operator in field:>10.
func luceneOperator(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '>' || text[i] == '<' || text[i] == '=') {
		i++
	}
	return i
}
