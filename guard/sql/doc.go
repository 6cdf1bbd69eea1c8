// Package sql reads SQL statements and measures their cost: rows that are written, read,
// skipped, grouped or joined without need, and calls that only consume time. It has no
// state besides its buffers. Package cost defines the terms; package guard decides.
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
// The package is not a full parser. It recognizes clauses, conditions and operands of all
// dialects, and skips what it does not know. If the unknown text is part of a FROM or
// starts a statement, it measures [cost.Unparsable], so that a class can refuse it.
//
// # Guarantees
//
//   - Reading takes linear time: each byte and token is read a bounded number of times,
//     nothing is tried twice, and no regular expression is executed. Options limit bytes,
//     brackets (DefaultMaxDepth) and tokens. A text above a limit is a fault, which the
//     default limits refuse.
//   - Without Explain, a warm Reader allocates nothing, except for package redos, which
//     analyzes the first 16 literal regular expressions of a text.
//   - Text that a quote or a comment hides from the database is ignored. Text that MySQL
//     executes in /*! … */ is read. A WHERE or a LIMIT in such a comment does not count,
//     because only some servers see it.
//   - A statement that a fault cut off is not judged, because its WHERE may be missing. The
//     statements before it are judged.
//   - A cap changes the number of a LIMIT, or adds a LIMIT where the grammar of PostgreSQL
//     and MySQL requires it: before FOR UPDATE, INTO and comments, after the last part of a
//     UNION. It changes no other byte.
//
// # Limits
//
// The reader knows the data only from hints. It cannot see views, functions and triggers,
// or a statement that EXECUTE or PREPARE … FROM composes when it runs. It reads such a
// statement if it is in the text, and the code in DO $$ … $$. Placeholders have no value
// until values are bound to them; then LIKE, LIMIT, OFFSET and lists are judged by these
// values. With a wrong or missing dialect, a text can be written so that the database reads
// it differently; always name the dialect.
//
// # Rules
//
// A condition selects if it compares a bare column with something known outside the block:
// a value, a placeholder, a column of the enclosing query, a subquery. It does not select
// if it is <>, NOT, IS NULL, > 0, or an equality with a column of fewer than ten values. An
// OR selects if each of its sides does. A LIKE with a leading wildcard, also inside an
// expression, is measured if nothing else selects, unless hints call the table small. A
// statement that writes needs a WHERE that names a column of the written table; any other
// condition is true for every row, or for none. Conditions that exclude no row, as far as
// their text shows, do not count either: a column called id is assumed to be a number that
// starts at 1.
//
// Tables are joined by equalities, BETWEEN, inequalities from both sides, conditions with a
// function or a distance of both, and conditions with a query that names both. An OR joins
// if each of its sides does, except sides in which a joining column is NULL, or both are.
// An equality between columns without an alias joins unknown tables. Functions, VALUES and
// queries of one row join everything at no cost.
//
// A statement that is only explained, a condition that is never true, and LIMIT 0 cost only
// their plan.
//
// Rows and text that calls generate are measured by their literal or bound arguments. A
// recursion that reads only itself generates rows until its condition limits it by a
// number; one that reads a table ends with the table.
//
// The number of groups is the product of the columns' cardinalities in hints. Of columns
// without hints only the largest assumption counts, because columns depend on each other.
// There are at most as many groups as rows that equalities leave.
package sql
