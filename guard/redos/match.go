package redos

// machine is a backtracking matcher that counts its steps.
type machine struct {
	prog  *program
	alpha *alphabet
	text  []int // as atoms
	slots []int
	regs  []int
	stack []frame
	steps int
	limit int
	depth int
}

// frame is an untried path, or a value to restore on the way there.
type frame struct {
	pc    int32 // of the path; -1-i: restore slot i (slots come before registers)
	pos   int32
	value int
}

// maxStack limits the machine's memory.
const maxStack = 1 << 20

func newMachine(p *program, a *alphabet) *machine {
	return &machine{prog: p, alpha: a, slots: make([]int, 2*p.groups), regs: make([]int, p.registers)}
}

// effort is the cost of a search.
type effort struct {
	total   number // steps
	work    int    // work for counting them
	matched bool
	over    bool // the search was cut off
}

// search tries a match at every position, or at the first only. It stops at limit steps.
func (m *machine) search(text []int, anchored bool, limit int) effort {
	m.text, m.steps, m.limit = text, 0, limit
	var e effort
	last := len(text)
	if anchored {
		last = 0
	}
	for start := 0; start <= last && !e.matched && m.steps < m.limit; start++ {
		e.matched = m.try(start)
	}
	e.total, e.work, e.over = number(m.steps), m.steps, m.steps >= m.limit
	return e
}

// attempt tries a match at one position.
func (m *machine) attempt(text []int, start, limit int) effort {
	m.text, m.steps, m.limit = text, 0, limit
	matched := m.try(start)
	return effort{total: number(m.steps), work: m.steps, matched: matched, over: m.steps >= m.limit}
}

func (m *machine) try(start int) bool {
	for i := range m.slots {
		m.slots[i] = -1
	}
	m.stack, m.depth = m.stack[:0], 0
	_, ok := m.run(0, start)
	return ok
}

// run executes from pc up to an inMatch, trying one path after another. It restores the
// stack, except for values to be restored.
func (m *machine) run(pc int32, pos int) (end int, ok bool) {
	if m.depth++; m.depth > maxDepth {
		m.steps = m.limit
	}
	defer func() { m.depth-- }()
	base := len(m.stack)
	for {
		if m.steps++; m.steps >= m.limit || len(m.stack) > maxStack {
			m.steps = max(m.steps, m.limit)
			return 0, false
		}
		if m.prog.code[pc].op == inMatch {
			m.commit(base)
			return pos, true
		}
		if next, to, ok := m.step(pc, pos); ok {
			pc, pos = next, to
			continue
		}
		if pc, pos, ok = m.back(base); !ok {
			return 0, false
		}
	}
}

// commit discards the paths above base, and keeps values to restore.
func (m *machine) commit(base int) {
	kept := m.stack[:base]
	for _, f := range m.stack[base:] {
		if f.pc < 0 {
			kept = append(kept, f)
		}
	}
	m.stack = kept
}

// back returns to the last untried path.
func (m *machine) back(base int) (pc int32, pos int, ok bool) {
	for len(m.stack) > base {
		f := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		if f.pc >= 0 {
			return f.pc, int(f.pos), true
		}
		m.restore(f)
	}
	return 0, 0, false
}

func (m *machine) restore(f frame) {
	if i := int(-1 - f.pc); i < len(m.slots) {
		m.slots[i] = f.value
	} else {
		m.regs[i-len(m.slots)] = f.value
	}
}

func (m *machine) push(pc int32, pos int) {
	m.stack = append(m.stack, frame{pc: pc, pos: int32(pos)})
}

func (m *machine) setSlot(i int32, v int) {
	m.stack = append(m.stack, frame{pc: -1 - i, value: m.slots[i]})
	m.slots[i] = v
}

func (m *machine) setReg(i int32, v int) {
	m.stack = append(m.stack, frame{pc: -1 - i - int32(len(m.slots)), value: m.regs[i]})
	m.regs[i] = v
}

// step executes one instruction.
func (m *machine) step(pc int32, pos int) (next int32, to int, ok bool) {
	i := &m.prog.code[pc]
	switch i.op {
	case inClass:
		return m.class(i, pc, pos)
	case inSplit:
		m.push(i.b, pos)
		return i.a, pos, true
	case inJump:
		return i.a, pos, true
	case inSave:
		m.setSlot(i.a, pos)
	case inAssert:
		return pc + 1, pos, m.alpha.holds(i.kind, m.text, pos)
	case inBackref:
		return m.backref(i, pc, pos)
	case inLook, inAtomic:
		return m.nested(i, pc, pos)
	case inZero:
		m.setReg(i.a, 0)
	case inHere:
		m.setReg(i.a, pos)
	case inMoved:
		if m.regs[i.a] == pos {
			return i.b, pos, !m.prog.strict
		}
	case inCount:
		return m.count(i, pc, pos)
	case inRound:
		return m.round(i, pos)
	case inIf:
		if m.slots[2*i.a+1] < 0 {
			return i.b, pos, true
		}
	default:
		return 0, 0, false
	}
	return pc + 1, pos, true
}

func (m *machine) class(i *inst, pc int32, pos int) (int32, int, bool) {
	if i.back {
		pos--
		return pc + 1, pos, pos >= 0 && m.alpha.in(int(i.a), m.text[pos])
	}
	return pc + 1, pos + 1, pos < len(m.text) && m.alpha.in(int(i.a), m.text[pos])
}

func (m *machine) nested(i *inst, pc int32, pos int) (int32, int, bool) {
	base := len(m.stack)
	end, ok := m.run(pc+1, pos)
	if i.op == inAtomic {
		return i.a, end, ok
	}
	if i.neg && ok {
		for len(m.stack) > base {
			m.restore(m.stack[len(m.stack)-1])
			m.stack = m.stack[:len(m.stack)-1]
		}
	}
	return i.a, pos, ok != i.neg && m.steps < m.limit
}

func (m *machine) count(i *inst, pc int32, pos int) (int32, int, bool) {
	switch done := m.regs[i.a]; {
	case done < int(i.n):
		return pc + 1, pos, true
	case done >= int(i.m):
		return i.b, pos, true
	case i.neg:
		m.push(pc+1, pos)
		return i.b, pos, true
	default:
		m.push(i.b, pos)
		return pc + 1, pos, true
	}
}

func (m *machine) round(i *inst, pos int) (int32, int, bool) {
	loop := &m.prog.code[i.b]
	done := m.regs[i.a]
	if i.n >= 0 && m.regs[i.n] == pos && done >= int(loop.n) {
		return loop.b, pos, !m.prog.strict
	}
	m.setReg(i.a, done+1)
	return i.b, pos, true
}

func (m *machine) backref(i *inst, pc int32, pos int) (int32, int, bool) {
	from, to := m.slots[2*i.a], m.slots[2*i.a+1]
	if from < 0 || to < from {
		return pc + 1, pos, m.prog.strict // in other engines an unset group never matches
	}
	if i.back {
		pos -= to - from
	}
	if pos < 0 || pos+to-from > len(m.text) {
		return 0, 0, false
	}
	for k := from; k < to; k++ {
		m.steps++
		a, b := m.text[k], m.text[pos+k-from]
		if a != b && (!i.fold || m.alpha.fold[a] != b && m.alpha.fold[b] != a) {
			return 0, 0, false
		}
	}
	if i.back {
		return pc + 1, pos, true
	}
	return pc + 1, pos + to - from, true
}

// holds reports whether an assertion is true at pos.
func (a *alphabet) holds(kind assert, text []int, pos int) bool {
	end := len(text)
	line := func(i int) bool { return a.in(a.lines, text[i]) }
	word := func(i int) bool { return i >= 0 && i < end && a.in(a.words, text[i]) }
	switch kind {
	case atStart, atSearch:
		return pos == 0
	case atEnd:
		return pos == end
	case atEndLine:
		return pos == end || pos == end-1 && line(pos)
	case atLineStart:
		return pos == 0 || line(pos-1)
	case atLineEnd:
		return pos == end || line(pos)
	case atWord:
		return word(pos-1) != word(pos)
	case atNoWord:
		return word(pos-1) == word(pos)
	case atWordIn:
		return !word(pos-1) && word(pos)
	default: // atWordOut
		return word(pos-1) && !word(pos)
	}
}
