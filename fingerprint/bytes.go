package fingerprint

// set is a set of kinds. Scanners unite the kinds of all bytes of a text and
// decide from the union.
type set uint64

// kindOf is the kind of c as a set of one.
func kindOf(c byte) set { return kindSets[c] }

// kindSets has the kind of every byte as a set of one.
var kindSets = [256]set{
	kCtl, kCtl, kCtl, kCtl, kCtl, kCtl, kCtl, kCtl, kCtl, kLine, kLine, kCtl, kCtl, kLine, kCtl, kCtl,
	kCtl, kCtl, kCtl, kCtl, kCtl, kCtl, kCtl, kCtl, kCtl, kCtl, kCtl, kCtl, kCtl, kCtl, kCtl, kCtl,
	kSpace, kProse, kQuote, kHash, kDollar, kHash, kAmp, kProse, kGroup, kGroup, kGroup, kPlus, kProse, kDash, kDot, kSlash,
	kDigit, kDigit, kDigit, kDigit, kDigit, kDigit, kDigit, kDigit, kDigit, kDigit, kColon, kSemi, kAngle, kEqual, kAngle, kQuest,
	kAt, kHexUp, kHexUp, kHexUp, kHexUp, kHexUp, kHexUp, kUp, kUp, kUp, kUp, kUp, kUp, kUp, kUp, kUp,
	kUp, kUp, kUp, kUp, kUp, kUp, kUp, kUp, kUp, kUp, kUp, kIndex, kBack, kIndex, kAngle, kUnder,
	kAngle, kHexLow, kHexLow, kHexLow, kHexLow, kHexLow, kHexLow, kLow, kLow, kLow, kLow, kLow, kLow, kLow, kLow, kLow,
	kLow, kLow, kLow, kLow, kLow, kLow, kLow, kLow, kLow, kLow, kLow, kBrace, kAngle, kBrace, kTilde, kCtl,
	kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh,
	kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh,
	kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh,
	kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh,
	kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh,
	kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh,
	kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh,
	kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh,
}

// kindsOf8 returns the union of the kinds of eight bytes.
func kindsOf8(w uint64) set {
	return kindSets[w&255] | kindSets[w>>8&255] | kindSets[w>>16&255] | kindSets[w>>24&255] |
		kindSets[w>>32&255] | kindSets[w>>40&255] | kindSets[w>>48&255] | kindSets[w>>56]
}

// within reports whether s has no kind outside t.
func (s set) within(t set) bool { return s&^t == 0 }

const (
	kDigit  set = 1 << iota
	kHexLow     // a–f
	kHexUp      // A–F
	kLow        // g–z
	kUp         // G–Z
	kSpace
	kDash
	kUnder
	kDot
	kSlash
	kPlus
	kEqual
	kColon
	kSemi
	kAt
	kTilde
	kQuest
	kAmp
	kHash  // # %
	kProse // ! ' ,
	kGroup // ( ) *
	kDollar
	kIndex // [ ]
	kBrace // { }
	kAngle // < > ^ ` |
	kQuote // "
	kBack  // \
	kLine  // tab, newline, carriage return
	kCtl
	kHigh // outside ASCII

	kHex    = kDigit | kHexLow | kHexUp
	kLower  = kHexLow | kLow
	kUpper  = kHexUp | kUp
	kLetter = kLower | kUpper
	kAlnum  = kDigit | kLetter
	// kMeta has the syntax characters of regular expressions, SQL and shells.
	kMeta = kGroup | kDollar | kIndex | kBrace | kAngle | kQuote | kBack | kSemi
	// kUnreserved and the sub-delims within kPathPlain are those of RFC 3986.
	kUnreserved = kAlnum | kDash | kUnder | kDot | kTilde
	kPathPlain  = kUnreserved | kSlash | kColon | kAt | kProse | kDollar | kAmp | kGroup | kPlus | kSemi | kEqual
	// kName has the characters of names that a skeleton spells out.
	kName = kAlnum | kDash | kUnder | kDot | kColon | kAt | kDollar | kIndex
)
