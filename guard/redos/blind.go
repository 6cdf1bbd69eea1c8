package redos

// maxBlind is how many pumps are tried blindly.
const maxBlind = 12

// blind tries pumps of one rune. It is for lookbehinds, which read from right to
// left and which the automaton leaves out.
func (a *analysis) blind(r *Result) bool {
	pumps := a.forge.readable()
	pumps = pumps[:min(len(pumps), maxBlind)]
	for _, c := range []candidate{{class: Exponential}, {class: Polynomial, seek: true}} {
		for _, pump := range pumps {
			for _, suffix := range [][]int{nil, {a.forge.order[0]}} {
				w := attack{pump: []int{pump}, suffix: suffix}
				if c.class == Exponential && a.growth.doubles(w, a.growth.seek) {
					r.Class, r.Confirmed, r.Witness, r.Offset = Exponential, true, a.spell(w), 0
					r.Fix = "look behind for a text of bounded length, or match it before"
					r.Reason = "a lookbehind can read " + quote(r.Witness.Pump) + " in more than one way, every time"
					return true
				}
				if c.class == Polynomial {
					if power := a.growth.power(w, a.growth.seek); power >= squareAt {
						a.report(c, w, power, a.advice(), r)
						r.Fix = "look behind for a text of bounded length, or match it before"
						return true
					}
				}
			}
		}
	}
	return false
}
