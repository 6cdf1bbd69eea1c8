// Package sql reads SQL statements and measures what they will cost: rows that
// are written, read, skipped, grouped or joined without need, and calls that
// only burn time. It is pure: words come from package cost, verdicts from guard.
//
//	text ──► tokens: comments, quotes, dollar quotes, casts, placeholders
//	           │       of PostgreSQL, MySQL and what is like them; brackets are paired
//	           ▼
//	       statements ──► queries: WITH, UNION, ORDER BY, LIMIT
//	                         │
//	                         ▼
//	                       blocks: FROM ──► which tables do conditions join?
//	                               WHERE ─► is it always true? does it select rows?
//	                               GROUP BY ► how many groups, by hints?
//
// It is no full parser. It recognises clauses, conditions and operands in any
// dialect, and steps over what it does not know; where that is part of a FROM or
// the beginning of a statement it measures [cost.Unparsable], so that a class
// can refuse it.
//
// # Guarantees
//
//   - Linear time: no byte and no token is looked at more than a bounded number
//     of times, nothing is tried twice, and no regular expression runs. Bytes,
//     brackets (DefaultMaxDepth) and tokens are bounded by Options; a text beyond a
//     bound is a fault that the default limits refuse, never one that passes unread.
//   - Nothing is allocated without Explain once a Reader is warm, but for what
//     package redos needs for literal regular expressions, of which the first 16
//     of a text are analysed.
//   - What a quote or a comment hides from the database is hidden here, and what
//     MySQL executes in /*! … */ is read. A WHERE or a LIMIT in such a comment
//     does not count: servers differ in whether they see it.
//   - A statement that a fault cut off is not judged, but for the fault: what is
//     missing might be its WHERE. Those before it are.
//   - A cap changes the number of a LIMIT, or writes one where the grammar of
//     PostgreSQL and MySQL wants it: before FOR UPDATE, INTO and comments, behind
//     the last part of a UNION. No other byte changes.
//
// # Limits
//
// It knows the data only from hints. Views, functions and triggers are not
// visible, nor is a statement that EXECUTE or PREPARE … FROM puts together when it
// runs; one that stands in the text is read, as is the code in DO $$ … $$.
// Placeholders are shapes until values are bound to them: then LIKE, LIMIT, OFFSET and lists are judged
// with the values. With the wrong dialect, or none, a text can be written to read
// differently here than in the database; name it.
//
// # How things are judged
//
// A condition selects when it compares a bare column with something known
// outside of the block: a value, a placeholder, a column of the query around it,
// a subquery. Not so <>, NOT, IS NULL, > 0, and equality with a column of fewer
// than ten values. An OR selects when each of its sides does. A LIKE that begins
// with a wildcard is measured where nothing else selects, unless hints call
// the table small, also within an expression. A statement that writes needs a
// WHERE that names a column of what is written: all others are true for every
// row, or for none. So are those that leave out no row, as far as their text
// shows it: a column called id is taken for a number that begins with 1.
//
// Tables are joined by equalities, BETWEEN, two inequalities from both sides,
// conditions with a function or a distance of both, and conditions with a query
// that names both. An OR joins when each of its sides does, but for those where
// a column that joins in another is NULL, or both are.
// Equalities between columns without an alias each join something that is not
// known. Functions, VALUES and queries of one row join with everything at no cost.
//
// What is explained without being run, a
// condition that is never true, and LIMIT 0 cost no more than their plan.
//
// Rows and text that calls make out of nothing are measured by their literal or
// bound arguments. A recursion that reads nothing but itself makes rows until its
// condition bounds it by a number; one that reads a table ends with the table.
//
// Groups are the product of what hints know of the columns; of columns without
// hints only the largest assumption counts, because columns depend on one
// another. There are no more groups than rows that equalities leave.
package sql
