package sql

// word is a bare word with a meaning, or the meaning of an operator.
type word uint8

const (
	none word = iota

	// Begin statements.
	wSelect
	wInsert
	wReplace
	wUpdate
	wDelete
	wMerge
	wWith
	wExplain
	wCopy
	wCreate
	wDeclare
	wPrepare
	wDo
	wCall
	wSet
	wBegin
	wWaitfor
	wTable
	wValues
	wOrdinary // a statement that reads no rows: COMMIT, GRANT, SHOW …

	// Parts of them.
	wFrom
	wWhere
	wGroup
	wBy
	wHaving
	wWindow
	wQualify
	wOrder
	wLimit
	wOffset
	wFetch
	wFor
	wLock
	wInto
	wProcedure
	wReturning
	wUnion // and INTERSECT, EXCEPT, MINUS
	wAll
	wDistinct
	wTop
	wRecursive
	wAs
	wOn
	wUsing
	wJoin
	wInner
	wOuter // LEFT, RIGHT, FULL
	wOuterWord
	wCross
	wNatural
	wStraight
	wApply
	wLateral
	wOnly
	wIgnorable // LOW_PRIORITY and the like
	wConnect   // CONNECT BY
	wWhen      // and THEN, ELSE
	wConflict  // and DUPLICATE, behind ON

	// Of expressions.
	wCase
	wEnd
	wAnd
	wOr
	wNot
	wIn
	wIs
	wNull
	wTrue
	wFalse
	wLike // and ILIKE
	wSimilar
	wTo
	wGlob
	wRegexp // and RLIKE
	wBetween
	wExists
	wAny // and SOME
	wArray
	wInterval
	wCollate
	wBinary
	wEscape
	wOver
	wFilter
	wMatch
	wAgainst
	wNow // CURRENT_DATE and the like

	wPrewhere

	// Operators.
	oEqual
	oUnequal
	oOrdered // < > <= >=
	oRegex
	oLike
	oConcat
	oCast
	oAssign
	oHolds // @> && ?| @@: served by indexes other than B-trees
	oStar
	oMinus
	oOther
)

// words is a set of the words that begin a clause; it does not distinguish other words.
type words uint64

func (s *words) add(w word) { *s |= 1 << (w & 63) }

// parts are words of which a text with several arms, or with something after them, contains
// at least one.
const parts words = 1<<wUnion | 1<<wOrder | 1<<wLimit | 1<<wOffset | 1<<wFetch | 1<<wFor | 1<<wLock | 1<<wInto | 1<<wProcedure

// tails reports whether a word may begin the text after the parts of a query.
func (w word) tails() bool { return w >= wOrder && w <= wProcedure }

// acts reports whether a word begins a statement of which something is measured.
func (w word) acts() bool {
	return w >= wSelect && w <= wOrdinary && w != wDeclare && w != wDo && w != wBegin && w != wSet
}

// names reports whether a word may also name a column or a table: it has its meaning only
// in certain places.
func (w word) names() bool {
	switch w {
	case none, wReplace, wInsert, wMerge, wExplain, wCopy, wDeclare, wPrepare, wDo, wCall, wBegin, wWaitfor, wOrdinary,
		wWindow, wQualify, wOffset, wFetch, wLock, wProcedure, wReturning, wTop, wRecursive, wApply, wOnly,
		wIgnorable, wConnect, wConflict, wTo, wGlob, wEscape, wFilter, wMatch, wAgainst, wValues, wArray, wOver, wRegexp, wBinary, wLimit, wEnd, wAny, wPrewhere:
		return true
	default:
		return false
	}
}
