package sql

import "math"

// arithmetic computes an expression of numbers with + - * and /, and casts. It returns
// false for anything else.
func (r *Reader) arithmetic(s span) (float64, bool) {
	for s.to-s.from >= 2 && r.kindAt(s.from) == openParen && r.skip(s.from) == s.to {
		s.from, s.to = s.from+1, s.to-1
	}
	switch s.to - s.from {
	case 1: // the usual case
		return r.numberAt(s.from)
	case 3:
		if v, ok := r.shifted(s); ok {
			return v, true
		}
	}
	sum, product, sign, factor := 0.0, 1.0, 1.0, 1.0
	divide, power, modulo, have := false, false, false, false
	for k := s.from; k < s.to; k++ {
		switch t := r.tok(k); {
		case have && t.word == oCast:
			k = r.typeName(k+1, s.to) - 1
		case have && t.word == oStar:
			have, divide = false, false
		case have && t.kind == operator && r.text[t.start] == '/' && t.end == t.start+1:
			have, divide = false, true
		case have && t.kind == operator && r.text[t.start] == '%' && t.end == t.start+1:
			have, modulo = false, true
		case have && t.kind == operator && r.text[t.start] == '^' && t.end == t.start+1 && r.dialect.kind == postgres:
			have, power = false, true
		case have && t.word == oMinus:
			sum += sign * product
			sign, product, have, divide = signOf(r.text[t.start]), 1, false, false
		case !have && t.word == oMinus:
			sign *= signOf(r.text[t.start])
		case have:
			return 0, false
		default:
			v, next, ok := r.term(k, s.to)
			if !ok {
				return 0, false
			}
			k, have = next-1, true
			switch {
			case modulo: // of what is in front of it, as in 6 * 5 % 4
				product, v, modulo = math.Mod(product, v), 1, false
			case power:
				product /= factor
				v = math.Pow(factor, v)
			case divide:
				v = 1 / v
			}
			factor, power = v, false
			product *= v
		}
	}
	v := sum + sign*product
	return v, have && !math.IsNaN(v)
}

// term reads a number, an expression in parentheses or a power at token k. It returns the
// position after it.
func (r *Reader) term(k, j int) (v float64, next int, ok bool) {
	switch {
	case r.kindAt(k) == openParen && r.skip(k) <= j:
		next = r.skip(k)
		v, ok = r.arithmetic(span{k + 1, next - 1})
		return v, next, ok
	case r.wordIs(k, "power", "pow") && r.kindAt(k+1) == openParen && r.skip(k+1) <= j:
		next = r.skip(k + 1)
		at := k + 2
		for at < next && r.kindAt(at) != comma {
			at = r.skip(at)
		}
		x, okx := r.arithmetic(span{k + 2, at})
		y, oky := r.arithmetic(span{at + 1, next - 1})
		return math.Pow(x, y), next, okx && oky
	}
	v, ok = r.numberAt(k)
	return v, k + 1, ok
}

// atMost returns an upper bound of an expression of numbers and operators, some of which
// are not computed; 0 if it contains anything else. Bit operations give no more bits than
// their operands have.
func (r *Reader) atMost(s span) float64 {
	sum, bits := 0.0, true
	for k := s.from; k < s.to; k++ {
		switch t := r.tok(k); {
		case t.word == oCast:
			k = r.typeName(k+1, s.to) - 1
		case t.kind == number:
			v, _ := r.numberAt(k)
			sum += v
		case t.kind == operator:
			switch string(r.text[t.start:t.end]) {
			case "&", "|", "#", "+", "-":
			default:
				bits = false
			}
		case t.kind != openParen && t.kind != closeParen:
			return 0
		}
	}
	if !bits && sum > 0 {
		return math.Inf(1)
	}
	return sum
}

// shifted computes 1 << 30.
func (r *Reader) shifted(s span) (float64, bool) {
	if t := r.tok(s.from + 1); s.to != s.from+3 || t.kind != operator || string(r.text[t.start:t.end]) != "<<" {
		return 0, false
	}
	x, okx := r.numberAt(s.from)
	n, okn := r.numberAt(s.from + 2)
	return math.Ldexp(x, int(max(0, min(n, 64)))), okx && okn
}

func signOf(c byte) float64 {
	if c == '-' {
		return -1
	}
	return 1
}
