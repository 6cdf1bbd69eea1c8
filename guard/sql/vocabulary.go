package sql

import "encoding/binary"

// maxWord is the length of the longest word with a meaning.
const maxWord = 17

// vocabulary lists the words with a meaning, in lower case. It is a table, because every
// word of a possibly hostile text is looked up in it.
var vocabulary = [...]struct {
	text string
	word word
}{
	{"select", wSelect},
	{"insert", wInsert},
	{"replace", wReplace},
	{"update", wUpdate},
	{"delete", wDelete},
	{"merge", wMerge},
	{"with", wWith},
	{"desc", wExplain},
	{"describe", wExplain},
	{"explain", wExplain},
	{"copy", wCopy},
	{"create", wCreate},
	{"declare", wDeclare},
	{"prepare", wPrepare},
	{"do", wDo},
	{"call", wCall},
	{"exec", wCall},
	{"execute", wCall},
	{"set", wSet},
	{"begin", wBegin},
	{"waitfor", wWaitfor},
	{"table", wTable},
	{"values", wValues},
	{"abort", wOrdinary},
	{"alter", wOrdinary},
	{"analyse", wOrdinary},
	{"analyze", wOrdinary},
	{"attach", wOrdinary},
	{"audit", wOrdinary},
	{"cache", wOrdinary},
	{"change", wOrdinary},
	{"check", wOrdinary},
	{"checkpoint", wOrdinary},
	{"checksum", wOrdinary},
	{"clone", wOrdinary},
	{"close", wOrdinary},
	{"cluster", wOrdinary},
	{"comment", wOrdinary},
	{"commit", wOrdinary},
	{"deallocate", wOrdinary},
	{"delimiter", wOrdinary},
	{"detach", wOrdinary},
	{"discard", wOrdinary},
	{"drop", wOrdinary},
	{"flush", wOrdinary},
	{"go", wOrdinary},
	{"grant", wOrdinary},
	{"handler", wOrdinary},
	{"help", wOrdinary},
	{"import", wOrdinary},
	{"install", wOrdinary},
	{"kill", wOrdinary},
	{"listen", wOrdinary},
	{"load", wOrdinary},
	{"move", wOrdinary},
	{"notify", wOrdinary},
	{"optimize", wOrdinary},
	{"pragma", wOrdinary},
	{"purge", wOrdinary},
	{"reassign", wOrdinary},
	{"refresh", wOrdinary},
	{"reindex", wOrdinary},
	{"release", wOrdinary},
	{"rename", wOrdinary},
	{"repair", wOrdinary},
	{"reset", wOrdinary},
	{"resignal", wOrdinary},
	{"revoke", wOrdinary},
	{"rollback", wOrdinary},
	{"save", wOrdinary},
	{"savepoint", wOrdinary},
	{"security", wOrdinary},
	{"show", wOrdinary},
	{"shutdown", wOrdinary},
	{"signal", wOrdinary},
	{"start", wOrdinary},
	{"stop", wOrdinary},
	{"truncate", wOrdinary},
	{"undrop", wOrdinary},
	{"uninstall", wOrdinary},
	{"unlisten", wOrdinary},
	{"unlock", wOrdinary},
	{"unset", wOrdinary},
	{"use", wOrdinary},
	{"vacuum", wOrdinary},
	{"xa", wOrdinary},
	{"from", wFrom},
	{"where", wWhere},
	{"prewhere", wPrewhere},
	{"group", wGroup},
	{"by", wBy},
	{"having", wHaving},
	{"window", wWindow},
	{"qualify", wQualify},
	{"order", wOrder},
	{"limit", wLimit},
	{"offset", wOffset},
	{"fetch", wFetch},
	{"for", wFor},
	{"lock", wLock},
	{"into", wInto},
	{"procedure", wProcedure},
	{"returning", wReturning},
	{"except", wUnion},
	{"intersect", wUnion},
	{"minus", wUnion},
	{"union", wUnion},
	{"all", wAll},
	{"distinct", wDistinct},
	{"distinctrow", wDistinct},
	{"top", wTop},
	{"recursive", wRecursive},
	{"as", wAs},
	{"on", wOn},
	{"using", wUsing},
	{"join", wJoin},
	{"inner", wInner},
	{"full", wOuter},
	{"left", wOuter},
	{"right", wOuter},
	{"outer", wOuterWord},
	{"cross", wCross},
	{"natural", wNatural},
	{"straight_join", wStraight},
	{"apply", wApply},
	{"lateral", wLateral},
	{"only", wOnly},
	{"concurrent", wIgnorable},
	{"delayed", wIgnorable},
	{"high_priority", wIgnorable},
	{"ignore", wIgnorable},
	{"low_priority", wIgnorable},
	{"quick", wIgnorable},
	{"connect", wConnect},
	{"else", wWhen},
	{"then", wWhen},
	{"when", wWhen},
	{"conflict", wConflict},
	{"duplicate", wConflict},
	{"case", wCase},
	{"end", wEnd},
	{"and", wAnd},
	{"or", wOr},
	{"xor", wOr},
	{"not", wNot},
	{"in", wIn},
	{"is", wIs},
	{"null", wNull},
	{"true", wTrue},
	{"false", wFalse},
	{"ilike", wLike},
	{"like", wLike},
	{"similar", wSimilar},
	{"to", wTo},
	{"glob", wGlob},
	{"regexp", wRegexp},
	{"rlike", wRegexp},
	{"between", wBetween},
	{"exists", wExists},
	{"any", wAny},
	{"some", wAny},
	{"array", wArray},
	{"interval", wInterval},
	{"collate", wCollate},
	{"binary", wBinary},
	{"escape", wEscape},
	{"over", wOver},
	{"filter", wFilter},
	{"match", wMatch},
	{"against", wAgainst},
	{"current_date", wNow},
	{"current_time", wNow},
	{"current_timestamp", wNow},
	{"current_user", wNow},
	{"localtime", wNow},
	{"localtimestamp", wNow},
}

// dictionary finds words by their first eight bytes, as one number.
type dictionary struct {
	slots   [1 << slotBits]uint8        // index in the vocabulary plus 1; 0: free
	keys    [len(vocabulary) + 1]uint64 // of the words
	lengths [len(vocabulary) + 1]uint8  // of the words
	words   [len(vocabulary) + 1]word   // of the words
	classes [1 << 8]class               // of all bytes
	inWord  [1 << 8]bool                // bytes that continue a word
	ready   bool
}

const slotBits = 10

// fill is called once for a Reader.
func (d *dictionary) fill() {
	for i := range vocabulary {
		text := []byte(vocabulary[i].text)
		key := keyOf(text, 0, len(text))
		d.keys[i+1], d.lengths[i+1], d.words[i+1] = key, uint8(len(text)), vocabulary[i].word
		at := slotOf(key, len(text))
		for d.slots[at] != 0 {
			at = (at + 1) % len(d.slots)
		}
		d.slots[at] = uint8(i + 1)
	}
	for c := range d.classes {
		d.classes[c] = classOf(byte(c))
		d.inWord[c] = d.classes[c] == letter || d.classes[c] == digit || c == '$'
	}
	d.ready = true
}

// keyOf returns the first eight bytes of a word as a number, in lower case.
func keyOf(text []byte, start, end int) uint64 {
	const low = 0x2020202020202020 // the bit that distinguishes A from a; different words stay different
	n := min(end-start, 8)
	var key uint64
	if start+8 <= len(text) {
		key = binary.LittleEndian.Uint64(text[start:]) | low
	} else {
		for k, c := range text[start:end] {
			key |= uint64(c|0x20) << (8 * (k & 7))
		}
	}
	return key & (1<<(8*n) - 1)
}

func slotOf(key uint64, n int) int {
	const odd = 0x9e3779b97f4a7c15
	return int((key + uint64(n)) * odd >> (64 - slotBits))
}

// find returns the meaning of the word from start to end.
func (d *dictionary) find(text []byte, start, end int) word {
	key, n := keyOf(text, start, end), end-start
	for at := slotOf(key, n); d.slots[at] != 0; at = (at + 1) % len(d.slots) {
		i := int(d.slots[at])
		if d.keys[i] == key && int(d.lengths[i]) == n && (n <= 8 || foldEqual(text[start+8:end], vocabulary[i-1].text[8:])) {
			return d.words[i]
		}
	}
	return none
}
