package sql

// unnamed reports whether no condition names the written table, although there are other
// tables: DELETE FROM a USING b WHERE b.id = 4. If a condition names columns without an
// alias, or contains a query, the answer is unknown, which counts as false.
func (r *Reader) unnamed(b *block, w writing) bool {
	if b.vague || b.all > maxRelations || b.all != len(r.relations)-b.base {
		return false
	}
	if w.last <= w.first {
		return !r.groupNamed(b, 0)
	}
	for k := w.first; k < w.last; k = r.skip(k) {
		if k > w.first && r.kindAt(k-1) != comma {
			continue
		}
		if w.set >= 0 && r.kindAt(k+1) != dot { // SET x = …
			return false
		}
		name := k // the table's name, after that of its database
		for behind := name + 1; r.kindAt(behind) == dot && (w.set < 0 && r.name(behind+1) || r.kindAt(behind+2) == dot); behind = name + 1 {
			name += 2
		}
		if rel := r.relationOf(b, name); rel >= 0 && !r.groupNamed(b, rel) {
			return true
		}
	}
	return false
}

// groupNamed reports whether a condition names a relation, or one that is joined with it.
func (r *Reader) groupNamed(b *block, i int) bool {
	root := r.root(b, i)
	for k := range r.relations[b.base:] {
		if r.relations[b.base+k].named && r.root(b, k) == root {
			return true
		}
	}
	return false
}
