package outage

// Most is how many payloads a guard keeps at most.
const Most = most

// Kept is how many payloads g keeps.
func (g *Guard) Kept() int { return g.sample.used }

// Thinned is by how many halves g's sample is thinned out.
func (g *Guard) Thinned() int { return int(g.sample.admit) }
