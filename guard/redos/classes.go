package redos

import (
	"strings"
	"unicode"
)

func allRunes() set { return set{{0, maxRune}} }
func digits() set   { return set{{'0', '9'}} }
func words() set    { return spans('0', '9', 'A', 'Z', '_', '_', 'a', 'z') }
func upper() set    { return set{{'A', 'Z'}} }
func lower() set    { return set{{'a', 'z'}} }
func letters() set  { return spans('A', 'Z', 'a', 'z') }
func hexes() set    { return spans('0', '9', 'A', 'F', 'a', 'f') }
func blanks() set   { return chars("\t ") }

// spaces returns the set of the dialect's \s.
func (p *parser) spaces() set {
	ascii := spans('\t', '\r', ' ', ' ')
	switch p.dialect {
	case JS:
		return ascii.with(spans(0xa0, 0xa0, 0x1680, 0x1680, 0x2000, 0x200a,
			0x2028, 0x2029, 0x202f, 0x202f, 0x205f, 0x205f, 0x3000, 0x3000, 0xfeff, 0xfeff))
	case Python:
		if p.flags.ascii {
			return ascii
		}
		return ascii.with(table(unicode.White_Space)).with(spans(0x1c, 0x1f))
	case DotNet, MySQL, Postgres:
		return ascii.with(table(unicode.White_Space))
	case RE2:
		return chars("\t\n\f\r ")
	default:
		return ascii
	}
}

// wordRunes returns the set of the dialect's \w. Beyond ASCII it approximates with whole
// blocks of letters: patterns that depend on the difference are rare, and exact tables are
// slow.
func (p *parser) wordRunes() set {
	if p.dialect.is(Python, DotNet, Postgres, MySQL) && !p.flags.ascii || p.flags.unicodeClasses {
		return words().with(spans(0xaa, 0xaa, 0xb5, 0xb5, 0xba, 0xba, 0xc0, 0xd6, 0xd8, 0xf6, 0xf8, 0x2ff,
			0x370, 0x167f, 0x1681, 0x180d, 0x180f, 0x1fff, 0x212a, 0x212b, 0x2c00, 0x2dff, 0x3040, 0xd7ff,
			0xf900, 0xfd3d, 0xff10, 0xff19, 0xff21, 0xff3a, 0xff41, 0xff5a))
	}
	return words()
}

func (p *parser) digitRunes() set {
	if p.dialect.is(Python, DotNet, MySQL) && !p.flags.ascii || p.flags.unicodeClasses {
		return digits().with(spans(0x660, 0x669, 0x6f0, 0x6f9, 0x966, 0x96f, 0xff10, 0xff19))
	}
	return digits()
}

// newlines returns the runes that end a line for dots and anchors.
func (p *parser) newlines() set {
	switch p.dialect {
	case JS:
		return chars("\n\r\u2028\u2029")
	case Java, MySQL:
		return chars("\n\r\u0085\u2028\u2029")
	default:
		return one('\n')
	}
}

func horizontal() set {
	return spans('\t', '\t', ' ', ' ', 0xa0, 0xa0, 0x1680, 0x1680, 0x180e, 0x180e, 0x2000, 0x200a,
		0x202f, 0x202f, 0x205f, 0x205f, 0x3000, 0x3000)
}

func vertical() set { return spans('\n', '\r', 0x85, 0x85, 0x2028, 0x2029) }

// posix returns the set of a [:name:] class.
func posix(name string) (set, bool) {
	switch strings.ToLower(name) {
	case "alpha":
		return letters(), true
	case "digit":
		return digits(), true
	case "alnum":
		return letters().with(digits()), true
	case "upper":
		return upper(), true
	case "lower":
		return lower(), true
	case "space":
		return spans('\t', '\r', ' ', ' '), true
	case "blank":
		return blanks(), true
	case "punct":
		return spans('!', '/', ':', '@', '[', '`', '{', '~'), true
	case "xdigit":
		return hexes(), true
	case "word":
		return words(), true
	case "cntrl":
		return spans(0, 31, 127, 127), true
	case "print":
		return spans(' ', '~'), true
	case "graph":
		return spans('!', '~'), true
	case "ascii":
		return spans(0, 127), true
	}
	return nil, false
}

func property(name string) (set, bool) {
	name = strings.TrimSpace(name)
	if _, v, ok := strings.Cut(name, "="); ok {
		name = v // value of Script, sc, scx, gc and so on: their names are distinct
	}
	bare := strings.NewReplacer("_", "", " ", "", "-", "").Replace(strings.ToLower(name))
	switch bare {
	case "any", "all":
		return allRunes(), true
	case "ascii":
		return set{{0, 127}}, true
	case "alphabetic", "isalphabetic", "javaalphabetic":
		return table(unicode.L).with(table(unicode.Nl)), true
	case "idstart", "xidstart":
		return table(unicode.L).with(one('_')), true
	case "idcontinue", "xidcontinue":
		return table(unicode.L).with(table(unicode.N)).with(one('_')), true
	case "l&", "lc", "casedletter":
		return table(unicode.Lu).with(table(unicode.Ll)).with(table(unicode.Lt)), true
	case "uppercase":
		return table(unicode.Lu), true
	case "lowercase":
		return table(unicode.Ll), true
	case "emoji", "emojipresentation", "extendedpictographic":
		return spans(0x203c, 0x203c, 0x2600, 0x27bf, 0x1f300, 0x1faff), true
	}
	for _, cut := range []string{"", "is", "in", "posix", "java"} {
		if rest, ok := strings.CutPrefix(bare, cut); ok {
			if s, ok := named(rest); ok {
				return s, true
			}
		}
	}
	return nil, false
}

// named looks up a name in the POSIX classes and in package unicode.
func named(bare string) (set, bool) {
	if s, ok := posix(bare); ok && len(bare) > 2 {
		return s, true
	}
	for _, tables := range []map[string]*unicode.RangeTable{unicode.Categories, unicode.Scripts, unicode.Properties} {
		for name, t := range tables {
			if strings.ReplaceAll(strings.ToLower(name), "_", "") == bare {
				return table(t), true
			}
		}
	}
	if cat, ok := longCategories()[bare]; ok {
		return table(unicode.Categories[cat]), true
	}
	return nil, false
}

func longCategories() map[string]string {
	return map[string]string{
		"letter": "L", "uppercaseletter": "Lu", "lowercaseletter": "Ll", "titlecaseletter": "Lt",
		"modifierletter": "Lm", "otherletter": "Lo", "mark": "M", "nonspacingmark": "Mn",
		"number": "N", "decimalnumber": "Nd", "letternumber": "Nl", "othernumber": "No",
		"punctuation": "P", "dashpunctuation": "Pd", "connectorpunctuation": "Pc", "symbol": "S",
		"mathsymbol": "Sm", "currencysymbol": "Sc", "separator": "Z", "spaceseparator": "Zs",
		"other": "C", "control": "Cc", "format": "Cf",
	}
}
