package fingerprint

// kinds assigns a kind to every byte, named by a letter.
const kinds = "" +
	"xxxxxxxxxnnxxnxx" + "xxxxxxxxxxxxxxxx" + // controls; n: tab, newline, return
	"stQrDretgggptmof" + "ddddddddddcijqjk" + //  !"#$%&'()*+,-./ 0123456789:;<=>?
	"aHHHHHHUUUUUUUUU" + "UUUUUUUUUUUvBvju" + // @ABCDEFGHIJKLMNO PQRSTUVWXYZ[\]^_
	"jhhhhhhlllllllll" + "lllllllllllVjVwx" + // `abcdefghijklmno pqrstuvwxyz{|}~
	"zzzzzzzzzzzzzzzz" + "zzzzzzzzzzzzzzzz" + "zzzzzzzzzzzzzzzz" + "zzzzzzzzzzzzzzzz" +
	"zzzzzzzzzzzzzzzz" + "zzzzzzzzzzzzzzzz" + "zzzzzzzzzzzzzzzz" + "zzzzzzzzzzzzzzzz"

// set is a set of kinds. Scanners unite the kinds of all bytes of a text and
// decide from the union.
type set uint64

// kindOf is the kind of c as a set of one.
func kindOf(c byte) set { return kindSets[c] }

// kindSets has the sets of one for kinds.
var kindSets = func() (sets [256]set) {
	for c := range sets {
		sets[c] = 1 << (kinds[c] & 63)
	}
	return sets
}()

// kindsOf8 returns the union of the kinds of eight bytes.
func kindsOf8(w uint64) set {
	return kindSets[w&255] | kindSets[w>>8&255] | kindSets[w>>16&255] | kindSets[w>>24&255] |
		kindSets[w>>32&255] | kindSets[w>>40&255] | kindSets[w>>48&255] | kindSets[w>>56]
}

// within reports whether s has no kind outside t.
func (s set) within(t set) bool { return s&^t == 0 }

const (
	kDigit  set = 1 << ('d' & 63)
	kHexLow set = 1 << ('h' & 63) // a–f
	kHexUp  set = 1 << ('H' & 63) // A–F
	kLow    set = 1 << ('l' & 63) // g–z
	kUp     set = 1 << ('U' & 63) // G–Z
	kSpace  set = 1 << ('s' & 63)
	kDash   set = 1 << ('m' & 63)
	kUnder  set = 1 << ('u' & 63)
	kDot    set = 1 << ('o' & 63)
	kSlash  set = 1 << ('f' & 63)
	kPlus   set = 1 << ('p' & 63)
	kEqual  set = 1 << ('q' & 63)
	kColon  set = 1 << ('c' & 63)
	kSemi   set = 1 << ('i' & 63)
	kAt     set = 1 << ('a' & 63)
	kTilde  set = 1 << ('w' & 63)
	kQuest  set = 1 << ('k' & 63)
	kAmp    set = 1 << ('e' & 63)
	kHash   set = 1 << ('r' & 63) // # %
	kProse  set = 1 << ('t' & 63) // ! ' ,
	kGroup  set = 1 << ('g' & 63) // ( ) *
	kDollar set = 1 << ('D' & 63)
	kIndex  set = 1 << ('v' & 63) // [ ]
	kBrace  set = 1 << ('V' & 63) // { }
	kAngle  set = 1 << ('j' & 63) // < > ^ ` |
	kQuote  set = 1 << ('Q' & 63) // "
	kBack   set = 1 << ('B' & 63) // \
	kLine   set = 1 << ('n' & 63) // tab, newline, carriage return
	kCtl    set = 1 << ('x' & 63)
	kHigh   set = 1 << ('z' & 63) // outside ASCII

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
	// kStop ends a plain run of bytes in a JSON string.
	kStop = kQuote | kBack | kLine | kCtl | kHigh
)
