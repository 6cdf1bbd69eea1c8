package sql

// word is a bare word that means something, or what an operator does.
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

	// Operators.
	oEqual
	oUnequal
	oOrdered // < > <= >=
	oRegex
	oLike
	oConcat
	oCast
	oAssign
	oHolds // @> && ?| @@: what other indexes than B-trees serve
	oStar
	oMinus
	oOther
)

// words is a set of those words that say where a clause begins; the others are
// not told apart in it.
type words uint64

func (s *words) add(w word) { *s |= 1 << (w & 63) }

// parts are the words of which a text with several arms, or with something
// behind them, has at least one.
const parts words = 1<<wUnion | 1<<wOrder | 1<<wLimit | 1<<wOffset | 1<<wFetch | 1<<wFor | 1<<wLock | 1<<wInto | 1<<wProcedure

// names says whether a word may also name a column or a table: it means
// something only in its place.
func (w word) names() bool {
	switch w {
	case none, wReplace, wInsert, wMerge, wExplain, wCopy, wDeclare, wPrepare, wDo, wCall, wBegin, wWaitfor, wOrdinary,
		wWindow, wQualify, wOffset, wFetch, wLock, wProcedure, wReturning, wTop, wRecursive, wApply, wOnly,
		wIgnorable, wConnect, wConflict, wTo, wGlob, wEscape, wFilter, wMatch, wAgainst, wValues, wArray, wOver, wRegexp, wBinary, wLimit, wEnd, wAny:
		return true
	default:
		return false
	}
}

// maxWord is the length of the longest word that means something.
const maxWord = 17

// wordOf finds a word in lower case.
func wordOf(b []byte) word {
	if len(b) < 2 || len(b) > maxWord {
		return none
	}
	switch b[0] {
	case 'a', 'b', 'c', 'd':
		return wordAD(b)
	case 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm':
		return wordEM(b)
	case 'n', 'o', 'p', 'q', 'r':
		return wordNR(b)
	case 's', 't', 'u', 'v', 'w', 'x':
		return wordSX(b)
	}
	return none
}

func wordAD(b []byte) word {
	switch string(b) {
	case "as":
		return wAs
	case "and":
		return wAnd
	case "all":
		return wAll
	case "any":
		return wAny
	case "apply":
		return wApply
	case "array":
		return wArray
	case "against":
		return wAgainst
	case "alter", "analyze", "analyse", "attach", "abort", "audit", "cache", "change", "check", "checkpoint", "checksum", "clone", "close", "cluster", "comment", "commit", "deallocate", "delimiter", "detach", "discard", "drop":
		return wOrdinary
	case "by":
		return wBy
	case "begin":
		return wBegin
	case "between":
		return wBetween
	case "binary":
		return wBinary
	case "case":
		return wCase
	case "call":
		return wCall
	case "copy":
		return wCopy
	case "create":
		return wCreate
	case "cross":
		return wCross
	case "collate":
		return wCollate
	case "connect":
		return wConnect
	case "conflict", "duplicate":
		return wConflict
	case "concurrent":
		return wIgnorable
	case "current_date", "current_time", "current_timestamp", "current_user":
		return wNow
	case "distinct", "distinctrow":
		return wDistinct
	case "delete":
		return wDelete
	case "delayed":
		return wIgnorable
	case "do":
		return wDo
	case "declare":
		return wDeclare
	case "describe", "desc":
		return wExplain
	}
	return none
}

func wordEM(b []byte) word {
	switch string(b) {
	case "from":
		return wFrom
	case "for":
		return wFor
	case "false":
		return wFalse
	case "fetch":
		return wFetch
	case "filter":
		return wFilter
	case "full", "left":
		return wOuter
	case "group":
		return wGroup
	case "glob":
		return wGlob
	case "having":
		return wHaving
	case "high_priority", "ignore", "low_priority":
		return wIgnorable
	case "in":
		return wIn
	case "is":
		return wIs
	case "into":
		return wInto
	case "inner":
		return wInner
	case "ilike", "like":
		return wLike
	case "insert":
		return wInsert
	case "interval":
		return wInterval
	case "intersect", "except", "minus":
		return wUnion
	case "join":
		return wJoin
	case "limit":
		return wLimit
	case "lateral":
		return wLateral
	case "lock":
		return wLock
	case "localtime", "localtimestamp":
		return wNow
	case "end":
		return wEnd
	case "else":
		return wWhen
	case "exists":
		return wExists
	case "escape":
		return wEscape
	case "explain":
		return wExplain
	case "exec", "execute":
		return wCall
	case "flush", "go", "grant", "handler", "help", "import", "install", "kill", "listen", "load", "move":
		return wOrdinary
	case "merge":
		return wMerge
	case "match":
		return wMatch
	}
	return none
}

func wordNR(b []byte) word {
	switch string(b) {
	case "or":
		return wOr
	case "on":
		return wOn
	case "not":
		return wNot
	case "null":
		return wNull
	case "natural":
		return wNatural
	case "order":
		return wOrder
	case "offset":
		return wOffset
	case "outer":
		return wOuterWord
	case "only":
		return wOnly
	case "over":
		return wOver
	case "prepare":
		return wPrepare
	case "procedure":
		return wProcedure
	case "qualify":
		return wQualify
	case "quick":
		return wIgnorable
	case "recursive":
		return wRecursive
	case "right":
		return wOuter
	case "rlike", "regexp":
		return wRegexp
	case "replace":
		return wReplace
	case "returning":
		return wReturning
	case "notify", "optimize", "pragma", "purge", "reassign", "refresh", "reindex", "release", "rename", "repair", "reset", "resignal", "revoke", "rollback":
		return wOrdinary
	}
	return none
}

func wordSX(b []byte) word {
	switch string(b) {
	case "select":
		return wSelect
	case "set":
		return wSet
	case "similar":
		return wSimilar
	case "some":
		return wAny
	case "straight_join":
		return wStraight
	case "to":
		return wTo
	case "then":
		return wWhen
	case "top":
		return wTop
	case "true":
		return wTrue
	case "table":
		return wTable
	case "union":
		return wUnion
	case "update":
		return wUpdate
	case "using":
		return wUsing
	case "values":
		return wValues
	case "where":
		return wWhere
	case "when":
		return wWhen
	case "with":
		return wWith
	case "window":
		return wWindow
	case "waitfor":
		return wWaitfor
	case "xor":
		return wOr
	case "save", "savepoint", "security", "show", "shutdown", "signal", "start", "stop", "truncate", "undrop", "uninstall", "unlisten", "unlock", "unset", "use", "vacuum", "xa":
		return wOrdinary
	}
	return none
}
