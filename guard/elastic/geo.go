package elastic

import (
	"bytes"
	"math"
)

// box is a part of the earth, in degrees. If left exceeds right, it crosses the date line.
type box struct{ top, left, bottom, right float64 }

func world() box { return box{90, -180, -90, 180} }

func (b box) valid() bool {
	return b.top >= b.bottom && !math.IsNaN(b.top+b.left+b.bottom+b.right) && !math.IsInf(b.top+b.left+b.bottom+b.right, 0)
}

func (b box) lon() float64 {
	w := b.right - b.left
	if w < 0 {
		w += 360
	}
	return min(1, max(0, w/360))
}

func (b box) lat() float64 { return min(1, max(0, (b.top-b.bottom)/180)) }

// mercator returns the box's share of a web map.
func (b box) mercator() float64 {
	y := func(lat float64) float64 {
		lat = min(85.0511287798, max(-85.0511287798, lat))
		s := math.Sin(lat * math.Pi / 180)
		return 0.5 - math.Log((1+s)/(1-s))/(4*math.Pi)
	}
	return min(1, max(0, y(b.bottom)-y(b.top)))
}

// sphere returns the box's share of the earth's surface.
func (b box) sphere() float64 {
	h := math.Sin(b.top*math.Pi/180) - math.Sin(b.bottom*math.Pi/180)
	return min(1, max(0, h/2)) * b.lon()
}

// area is a box that contains every document.
type area struct {
	field []byte
	box   box
}

// geoQuery reads queries that select a part of the earth.
func (r *Reader) geoQuery(kind []byte, v int, every bool) selectivity {
	r.clause(v, 1)
	sel, radius := selStrong, 0.0
	if string(kind) == "geo_distance" {
		if d := r.get(v, "distance"); d > none {
			radius = r.meters(d)
		}
	}
	for k := v + 1; r.isObject(v) && k < r.next(v); k = r.next(k + 1) {
		var b box
		ok := false
		r.shapeDepth(r.get(k+1, "shape"))
		switch string(kind) {
		case "geo_bounding_box":
			b, ok = r.boxOf(k + 1)
		case "geo_distance":
			var lat, lon float64
			if lat, lon, ok = r.point(k + 1); ok && radius > 0 {
				b = around(lat, lon, radius)
			} else {
				ok = false
			}
		case "geo_polygon":
			b, ok = r.hull(r.get(k+1, "points"))
		case "geo_shape":
			if shape := r.get(k+1, "shape"); shape > none {
				b, ok = r.shapeBox(shape)
			}
			switch relation := r.get(k+1, "relation"); {
			case relation <= none:
			case bytes.EqualFold(r.bytes(relation), []byte("disjoint")):
				ok, sel = false, selWeak // everything outside
			case bytes.EqualFold(r.bytes(relation), []byte("contains")):
				ok = false // around the area
			}
		case "geo_grid":
			b, ok = r.gridCell(k + 1)
		}
		if ok && b.valid() && b.sphere() > 0.5 {
			sel = selWeak // most of the earth
		}
		if ok && every && b.valid() && len(r.areas) < maxBounds {
			r.areas = append(r.areas, area{field: r.bytes(k), box: b})
		}
	}
	return sel
}

const meterPerDegree = 111_320

func around(lat, lon, radius float64) box {
	h := radius / meterPerDegree
	w := h / max(0.01, math.Cos(lat*math.Pi/180))
	if w >= 180 {
		return box{min(90, lat+h), -180, max(-90, lat-h), 180}
	}
	return box{min(90, lat+h), lon - w, max(-90, lat-h), lon + w}
}

// meters parses "5km". A bare number is in meters.
func (r *Reader) meters(n int) float64 {
	if v, ok := r.number(n); ok {
		return v
	}
	if !r.isText(n) {
		return 0
	}
	v, unit := splitUnit(r.bytes(n))
	switch string(unit) {
	case "km", "kilometers":
		return v * 1000
	case "mi", "miles":
		return v * 1609.344
	case "m", "meters":
		return v
	case "yd", "yards":
		return v * 0.9144
	case "ft", "feet":
		return v * 0.3048
	case "NM", "nmi", "nauticalmiles":
		return v * 1852
	case "cm":
		return v / 100
	}
	return 0
}

// boxOf parses bounds in all known forms.
func (r *Reader) boxOf(n int) (box, bool) {
	if r.isText(n) {
		return wktBox(r.bytes(n))
	}
	if !r.isObject(n) {
		return box{}, false
	}
	if w := r.get(n, "wkt"); w > none && r.isText(w) {
		return wktBox(r.bytes(w))
	}
	b := world()
	seen := 0
	for k := n + 1; k < r.next(n); k = r.next(k + 1) {
		lat, lon, ok := r.corner(k, k+1)
		x, isNumber := r.number(k + 1)
		switch name := string(r.bytes(k)); {
		case name == "top_left" && ok:
			b.top, b.left = lat, lon
		case name == "bottom_right" && ok:
			b.bottom, b.right = lat, lon
		case name == "top_right" && ok:
			b.top, b.right = lat, lon
		case name == "bottom_left" && ok:
			b.bottom, b.left = lat, lon
		case name == "top" && isNumber:
			b.top = x
		case name == "left" && isNumber:
			b.left = x
		case name == "bottom" && isNumber:
			b.bottom = x
		case name == "right" && isNumber:
			b.right = x
		default:
			continue
		}
		seen++
	}
	return b, seen >= 2
}

// point parses {lat, lon}, [lon, lat], "lat,lon", a WKT point or a geohash.
func (r *Reader) point(n int) (lat, lon float64, ok bool) {
	switch {
	case r.isObject(n):
		if c := r.get(n, "coordinates"); c > none {
			return r.point(c)
		}
		lat, a := r.number(r.get(n, "lat"))
		lon, b := r.number(r.get(n, "lon"))
		return lat, lon, a && b
	case r.isArray(n) && r.count(n) >= 2:
		lon, a := r.number(n + 1)
		lat, b := r.number(r.next(n + 1))
		return lat, lon, a && b
	case r.isText(n):
		return pointText(r.bytes(n))
	}
	return 0, 0, false
}

// corner parses the point in a member of bounds. A geohash stands for the outer corner of
// its cell.
func (r *Reader) corner(key, n int) (lat, lon float64, ok bool) {
	if !r.isText(n) || bytes.IndexByte(r.bytes(n), ',') >= 0 {
		return r.point(n)
	}
	cell, isHash := geohashCell(r.bytes(n))
	if !isHash {
		return r.point(n)
	}
	lat, lon = cell.bottom, cell.left
	name := r.bytes(key)
	if bytes.HasPrefix(name, []byte("top")) {
		lat = cell.top
	}
	if bytes.HasSuffix(name, []byte("right")) {
		lon = cell.right
	}
	return lat, lon, true
}

func pointText(b []byte) (lat, lon float64, ok bool) {
	if first, second, found := bytes.Cut(b, []byte(",")); found {
		lat, a := parseNumber(bytes.TrimSpace(first))
		lon, c := parseNumber(bytes.TrimSpace(second))
		return lat, lon, a && c
	}
	if len(b) > 6 && bytes.EqualFold(b[:5], []byte("POINT")) {
		var xy [4]float64
		if numbersIn(b, xy[:]) >= 2 {
			return xy[1], xy[0], true
		}
		return 0, 0, false
	}
	cell, ok := geohashCell(b)
	return (cell.top + cell.bottom) / 2, (cell.left + cell.right) / 2, ok
}

func numbersIn(b []byte, out []float64) int {
	n := 0
	for i := 0; i < len(b) && n < len(out); {
		j := i
		for j < len(b) && (b[j] >= '0' && b[j] <= '9' || b[j] == '-' || b[j] == '.') {
			j++
		}
		if v, ok := parseNumber(b[i:j]); ok {
			out[n] = v
			n++
		}
		i = max(j, i+1)
	}
	return n
}
