package sql

import (
	"encoding/binary"
	"strings"
)

// maxWord is the length of the longest word that means something.
const maxWord = 17

// maxWords is how many words there may be.
const maxWords = 180

// vocabulary are the words that mean something, in lower case.
var vocabulary = [...]struct {
	word  word
	texts string
}{
	{wSelect, "select"},
	{wInsert, "insert"},
	{wReplace, "replace"},
	{wUpdate, "update"},
	{wDelete, "delete"},
	{wMerge, "merge"},
	{wWith, "with"},
	{wExplain, "desc describe explain"},
	{wCopy, "copy"},
	{wCreate, "create"},
	{wDeclare, "declare"},
	{wPrepare, "prepare"},
	{wDo, "do"},
	{wCall, "call exec execute"},
	{wSet, "set"},
	{wBegin, "begin"},
	{wWaitfor, "waitfor"},
	{wTable, "table"},
	{wValues, "values"},
	{wOrdinary, "abort alter analyse analyze attach audit cache change check checkpoint checksum clone close cluster comment commit " +
		"deallocate delimiter detach discard drop flush go grant handler help import install kill listen load move notify " +
		"optimize pragma purge reassign refresh reindex release rename repair reset resignal revoke rollback save savepoint " +
		"security show shutdown signal start stop truncate undrop uninstall unlisten unlock unset use vacuum xa"},
	{wFrom, "from"},
	{wWhere, "where"},
	{wGroup, "group"},
	{wBy, "by"},
	{wHaving, "having"},
	{wWindow, "window"},
	{wQualify, "qualify"},
	{wOrder, "order"},
	{wLimit, "limit"},
	{wOffset, "offset"},
	{wFetch, "fetch"},
	{wFor, "for"},
	{wLock, "lock"},
	{wInto, "into"},
	{wProcedure, "procedure"},
	{wReturning, "returning"},
	{wUnion, "except intersect minus union"},
	{wAll, "all"},
	{wDistinct, "distinct distinctrow"},
	{wTop, "top"},
	{wRecursive, "recursive"},
	{wAs, "as"},
	{wOn, "on"},
	{wUsing, "using"},
	{wJoin, "join"},
	{wInner, "inner"},
	{wOuter, "full left right"},
	{wOuterWord, "outer"},
	{wCross, "cross"},
	{wNatural, "natural"},
	{wStraight, "straight_join"},
	{wApply, "apply"},
	{wLateral, "lateral"},
	{wOnly, "only"},
	{wIgnorable, "concurrent delayed high_priority ignore low_priority quick"},
	{wConnect, "connect"},
	{wWhen, "else then when"},
	{wConflict, "conflict duplicate"},
	{wCase, "case"},
	{wEnd, "end"},
	{wAnd, "and"},
	{wOr, "or xor"},
	{wNot, "not"},
	{wIn, "in"},
	{wIs, "is"},
	{wNull, "null"},
	{wTrue, "true"},
	{wFalse, "false"},
	{wLike, "ilike like"},
	{wSimilar, "similar"},
	{wTo, "to"},
	{wGlob, "glob"},
	{wRegexp, "regexp rlike"},
	{wBetween, "between"},
	{wExists, "exists"},
	{wAny, "any some"},
	{wArray, "array"},
	{wInterval, "interval"},
	{wCollate, "collate"},
	{wBinary, "binary"},
	{wEscape, "escape"},
	{wOver, "over"},
	{wFilter, "filter"},
	{wMatch, "match"},
	{wAgainst, "against"},
	{wNow, "current_date current_time current_timestamp current_user localtime localtimestamp"},
}

// dictionary finds words by their first eight bytes, as one number.
type dictionary struct {
	slots   [1 << slotBits]uint8 // number of a word, from 1; 0 is free
	keys    [maxWords + 1]uint64 // by number
	lengths [maxWords + 1]uint8
	words   [maxWords + 1]word
	classes [1 << 8]class // of all bytes
	inWord  [1 << 8]bool  // bytes that go on with a word
	texts   [maxWords + 1]string
	ready   bool
}

const slotBits = 10

// fill is called once for a Reader.
func (d *dictionary) fill() {
	i := 0
	for _, v := range vocabulary {
		for name := range strings.FieldsSeq(v.texts) {
			i++
			key := keyOf([]byte(name), 0, len(name))
			d.keys[i], d.lengths[i], d.words[i], d.texts[i] = key, uint8(len(name)), v.word, name
			at := slotOf(key, len(name))
			for d.slots[at] != 0 {
				at = (at + 1) % len(d.slots)
			}
			d.slots[at] = uint8(i)
		}
	}
	for c := range d.classes {
		d.classes[c] = classOf(byte(c))
		d.inWord[c] = d.classes[c] == letter || d.classes[c] == digit || c == '$'
	}
	d.ready = true
}

// keyOf is the first eight bytes of a word as a number, in one case.
func keyOf(text []byte, start, end int) uint64 {
	const low = 0x2020202020202020 // what tells A from a; no two bytes of words become one
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

// find is what the word from start to end means.
func (d *dictionary) find(text []byte, start, end int) word {
	key, n := keyOf(text, start, end), end-start
	for at := slotOf(key, n); d.slots[at] != 0; at = (at + 1) % len(d.slots) {
		i := int(d.slots[at])
		if d.keys[i] == key && int(d.lengths[i]) == n && (n <= 8 || foldEqual(text[start+8:end], d.texts[i][8:])) {
			return d.words[i]
		}
	}
	return none
}
