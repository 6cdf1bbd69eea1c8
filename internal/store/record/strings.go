package record

import "github.com/bezoar-dev/bezoar"

// mapper rewrites strings in place and keeps the first error.
type mapper struct {
	f   func(string) (string, error)
	err error
}

func (m *mapper) string(s *string) {
	if m.err == nil && *s != "" {
		*s, m.err = m.f(*s)
	}
}

func (m *mapper) strings(ss []string) {
	for i := range ss {
		m.string(&ss[i])
	}
}

// mapVerdict rewrites every string of v. A test checks that it covers every field.
func mapVerdict(v *bezoar.Verdict, f func(string) (string, error)) error {
	m := mapper{f: f}
	m.string(&v.ID)
	m.string((*string)(&v.Scope))
	m.string((*string)(&v.State))
	m.string(&v.Fleet)
	m.string(&v.Route)
	m.string(&v.Reason)
	m.string(&v.Sample)
	m.string(&v.Node)
	m.strings(v.Features)
	m.strings(v.Why)
	m.evidence(v.Evidence)
	return m.err
}

// mapLetter rewrites every string of l. A test checks that it covers every field.
func mapLetter(l *bezoar.Letter, f func(string) (string, error)) error {
	m := mapper{f: f}
	m.string(&l.ID)
	m.string(&l.Verdict)
	m.string(&l.Fleet)
	m.string(&l.Route)
	m.string(&l.Reason)
	m.evidence(l.Evidence)
	r := &l.Request
	m.string(&r.Method)
	m.string(&r.Target)
	m.string(&r.Host)
	m.string(&r.Client)
	m.header(&r.Header)
	m.header(&r.Trailer)
	m.strings(r.Order)
	return m.err
}

func (m *mapper) evidence(evidence []bezoar.Evidence) {
	for i := range evidence {
		e := &evidence[i]
		m.string(&e.Worker)
		m.string(&e.Detail)
		m.string(&e.Signal)
		m.strings(e.Stderr)
	}
}

func (m *mapper) header(header *map[string][]string) {
	if len(*header) == 0 {
		return
	}
	mapped := make(map[string][]string, len(*header))
	for name, values := range *header {
		m.string(&name)
		m.strings(values)
		mapped[name] = values
	}
	*header = mapped
}
