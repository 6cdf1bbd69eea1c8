package fingerprint

// Forgetful makes p compute every identity anew.
func Forgetful(p *Printer) *Printer {
	p.repeats.off = true
	return p
}
