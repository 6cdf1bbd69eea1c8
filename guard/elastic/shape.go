package elastic

import (
	"bytes"
	"math"
)

// nowhere returns an empty box, as a start for extension.
func nowhere() box { return box{top: -90, left: 180, bottom: 90, right: -180} }

func (b *box) grow(lat, lon float64) {
	b.top, b.bottom = max(b.top, lat), min(b.bottom, lat)
	b.left, b.right = min(b.left, lon), max(b.right, lon)
}

// hull returns the box around a list of points.
func (r *Reader) hull(n int) (box, bool) {
	b := nowhere()
	if !r.isArray(n) || r.count(n) == 0 {
		return b, false
	}
	for e := n + 1; e < r.next(n); e = r.next(e) {
		lat, lon, ok := r.point(e)
		if !ok {
			return b, false
		}
		b.grow(lat, lon)
	}
	return b, true
}

// shapeBox returns the box around a shape, in GeoJSON or well-known text.
func (r *Reader) shapeBox(n int) (box, bool) {
	if r.isText(n) {
		return textBox(r.bytes(n))
	}
	b := nowhere()
	ok := r.shapeIn(n, &b)
	return b, ok
}

// shapeIn extends a box by a shape.
func (r *Reader) shapeIn(n int, b *box) bool {
	t := r.get(n, "type")
	if t <= none || !r.isText(t) {
		return false
	}
	kind, c := r.bytes(t), r.get(n, "coordinates")
	switch {
	case bytes.EqualFold(kind, []byte("geometrycollection")):
		all, found := true, false
		r.each(r.get(n, "geometries"), func(e int) {
			all, found = all && r.shapeIn(e, b), true
		})
		return all && found
	case bytes.EqualFold(kind, []byte("circle")):
		lat, lon, ok := r.point(c)
		radius := r.meters(r.get(n, "radius"))
		if !ok || radius <= 0 {
			return false
		}
		a := around(lat, lon, radius)
		b.grow(a.top, a.left)
		b.grow(a.bottom, a.right)
		return true
	}
	return r.extent(c, b)
}

// extent extends a box by points in lists of any depth.
func (r *Reader) extent(n int, b *box) bool {
	if n <= none || !r.isArray(n) || r.count(n) == 0 {
		return false
	}
	if r.kind(n+1) == kindNumber {
		lat, lon, ok := r.point(n)
		if ok {
			b.grow(lat, lon)
		}
		return ok
	}
	for e := n + 1; e < r.next(n); e = r.next(e) {
		if !r.extent(e, b) {
			return false
		}
	}
	return true
}

// textBox returns the box around a shape in text form. It reads two numbers after each
// parenthesis or comma.
func textBox(text []byte) (box, bool) {
	text = bytes.TrimSpace(text)
	if b, ok := wktBox(text); ok {
		return b, true
	}
	b, found := nowhere(), false
	if len(text) >= 6 && bytes.EqualFold(text[:6], []byte("CIRCLE")) {
		return b, false
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '(' && text[i] != ',' {
			continue
		}
		rest := bytes.TrimLeft(text[i+1:min(len(text), i+1+longestPoint)], " \t\r\n")
		lon, rest, ok := leadingNumber(rest)
		if !ok {
			continue // another parenthesis, or the name of a shape
		}
		lat, _, ok := leadingNumber(bytes.TrimLeft(rest, " \t\r\n"))
		if !ok {
			return b, false
		}
		b.grow(lat, lon)
		found = true
	}
	return b, found
}

const longestPoint = 128 // bytes of two numbers

// leadingNumber returns the number at the start of a text, and the rest.
func leadingNumber(text []byte) (v float64, rest []byte, ok bool) {
	i := 0
	for i < len(text) && (text[i] >= '0' && text[i] <= '9' || bytes.IndexByte([]byte("+-.eE"), text[i]) >= 0) {
		i++
	}
	v, ok = parseNumber(text[:i])
	return v, text[i:], ok && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// wktBox reads BBOX(left, right, top, bottom), also written ENVELOPE.
func wktBox(b []byte) (box, bool) {
	name, _, found := bytes.Cut(b, []byte("("))
	name = bytes.TrimSpace(name)
	if !found || !bytes.EqualFold(name, []byte("BBOX")) && !bytes.EqualFold(name, []byte("ENVELOPE")) {
		return box{}, false
	}
	var x [4]float64
	if numbersIn(b[len(name):], x[:]) < 4 {
		return box{}, false
	}
	return box{top: x[2], left: x[0], bottom: x[3], right: x[1]}, true
}

// gridCell returns the cell of a geo_grid query. Hexagons are not supported.
func (r *Reader) gridCell(n int) (box, bool) {
	if h := r.get(n, "geohash"); h > none && r.isText(h) {
		return geohashCell(r.bytes(h))
	}
	t := r.get(n, "geotile")
	if t <= none || !r.isText(t) {
		return box{}, false
	}
	var x [3]float64
	if numbersIn(r.bytes(t), x[:]) < 3 || x[0] < 0 || x[0] > 29 {
		return box{}, false
	}
	tiles := math.Exp2(x[0])
	lat := func(y float64) float64 { return math.Atan(math.Sinh(math.Pi*(1-2*y/tiles))) * 180 / math.Pi }
	return box{top: lat(x[2]), left: x[1]/tiles*360 - 180, bottom: lat(x[2] + 1), right: (x[1]+1)/tiles*360 - 180}, true
}
