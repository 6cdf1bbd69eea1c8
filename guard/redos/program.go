package redos

// inst is an instruction of the matcher.
type inst struct {
	op   inOp
	neg  bool // inLook: negative; inCount: lazy; inHere: of a counting loop
	back bool // move to the left
	fold bool // inBackref
	kind assert
	a, b int32 // addresses; or a: class, group, slot, register
	n, m int32 // counts
}

type inOp uint8

const (
	inMatch   inOp = iota
	inClass        // reads one rune of class a
	inSplit        // tries a, then b
	inJump         // continues at a
	inSave         // stores the position in slot a
	inAssert       // requires kind
	inBackref      // reads the text of group a
	inLook         // runs from pc+1 to its inMatch, then continues at a
	inAtomic       // the same, but continues at the position where the match ended
	inCount        // a: register, b: exit; n to m rounds
	inRound        // ends a round of the inCount at b; a: register
	inZero         // sets register a to 0
	inHere         // sets register a to the position
	inMoved        // if the position equals register a: fails (JavaScript) or continues at b
	inIf           // continues if group a is set, otherwise at b
	inFail
)

type program struct {
	code      []inst
	groups    int
	registers int
	strict    bool // empty rounds fail, as in JavaScript
}

type compiler struct {
	program
	back   bool
	groups []*node
}

func compile(t *tree, d Dialect) *program {
	c := &compiler{groups: t.groups}
	c.program.groups = len(t.groups)
	c.strict = d == JS
	c.emit(t.root)
	c.add(inst{op: inMatch})
	return &c.program
}

func (c *compiler) add(i inst) int {
	c.code = append(c.code, i)
	return len(c.code) - 1
}

func (c *compiler) here() int32 { return int32(len(c.code)) }

func (c *compiler) register() int32 {
	c.registers++
	return int32(c.registers - 1)
}

func (c *compiler) emit(n *node) {
	switch n.op {
	case opEmpty, opKeep:
	case opClass:
		c.add(inst{op: inClass, a: int32(n.class), back: c.back})
	case opConcat:
		for i := range n.subs {
			if c.back {
				i = len(n.subs) - 1 - i
			}
			c.emit(n.subs[i])
		}
	case opAlt:
		c.alt(n)
	case opRepeat:
		if n.possessive {
			at := c.add(inst{op: inAtomic})
			c.repeat(n)
			c.add(inst{op: inMatch})
			c.code[at].a = c.here()
			return
		}
		c.repeat(n)
	case opCapture:
		first, last := int32(2*n.n), int32(2*n.n+1)
		if c.back {
			first, last = last, first
		}
		c.add(inst{op: inSave, a: first})
		c.emit(n.subs[0])
		c.add(inst{op: inSave, a: last})
	case opAtomic:
		at := c.add(inst{op: inAtomic})
		c.emit(n.subs[0])
		c.add(inst{op: inMatch})
		c.code[at].a = c.here()
	case opLook:
		c.look(n)
	case opBackref:
		c.add(inst{op: inBackref, a: int32(n.n), fold: n.fold, back: c.back})
	case opAssert:
		c.add(inst{op: inAssert, kind: n.assert})
	case opIf:
		c.conditional(n)
	}
}

func (c *compiler) look(n *node) {
	at := c.add(inst{op: inLook, neg: n.neg})
	was := c.back
	c.back = n.behind
	c.emit(n.subs[0])
	c.back = was
	c.add(inst{op: inMatch})
	c.code[at].a = c.here()
}

func (c *compiler) conditional(n *node) {
	if n.n < 0 || n.n >= len(c.groups) {
		c.alt(n)
		return
	}
	at := c.add(inst{op: inIf, a: int32(n.n)})
	c.emit(n.subs[0])
	out := c.add(inst{op: inJump})
	c.code[at].b = c.here()
	c.emit(n.subs[1])
	c.code[out].a = c.here()
}

func (c *compiler) alt(n *node) {
	var outs []int
	for i, s := range n.subs {
		if i == len(n.subs)-1 {
			c.emit(s)
			break
		}
		split := c.add(inst{op: inSplit})
		c.code[split].a = c.here()
		c.emit(s)
		outs = append(outs, c.add(inst{op: inJump}))
		c.code[split].b = c.here()
	}
	for _, o := range outs {
		c.code[o].a = c.here()
	}
}

// split sets the ways of the inSplit at: greedy tries body first.
func (c *compiler) split(at int, lazy bool, body, exit int32) {
	if lazy {
		body, exit = exit, body
	}
	c.code[at].a, c.code[at].b = body, exit
}

func (c *compiler) repeat(n *node) {
	body := n.subs[0]
	empty := body.nullable()
	switch {
	case n.max == 0:
	case n.min == 1 && n.max == 1:
		c.emit(body)
	case n.min == 0 && n.max == 1, n.min == 0 && n.max >= unbounded:
		split := c.add(inst{op: inSplit})
		start := c.here()
		var reg int32
		if empty {
			reg = c.register()
			c.add(inst{op: inHere, a: reg})
		}
		c.emit(body)
		moved := -1
		if empty {
			moved = c.add(inst{op: inMoved, a: reg})
		}
		if n.max > 1 {
			c.add(inst{op: inJump, a: int32(split)})
		}
		c.split(split, n.lazy, start, c.here())
		if moved >= 0 {
			c.code[moved].b = c.here()
		}
	case n.min == 1 && n.max >= unbounded && !empty:
		start := c.here()
		c.emit(body)
		split := c.add(inst{op: inSplit})
		c.split(split, n.lazy, start, c.here())
	default:
		c.counted(n, empty)
	}
}

func (c *compiler) counted(n *node, empty bool) {
	rounds, place := c.register(), c.register()
	c.add(inst{op: inZero, a: rounds})
	loop := c.add(inst{op: inCount, a: rounds, n: int32(n.min), m: int32(n.max), neg: n.lazy})
	if empty {
		c.add(inst{op: inHere, a: place, neg: true})
	}
	c.emit(n.subs[0])
	round := inst{op: inRound, a: rounds, b: int32(loop), n: -1}
	if empty {
		round.n = place
	}
	c.add(round)
	c.code[loop].b = c.here()
}
