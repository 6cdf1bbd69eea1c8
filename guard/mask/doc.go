// Package mask takes the values out of queries, so that they can be handed to
// somebody who may not see them, and leaves what their cost depends on.
//
// [Query] puts letters for letters and digits for digits: in the strings and
// numbers of SQL, in the values of Elasticsearch's clauses, in arguments and
// variables of GraphQL, in the literals of expressions, in comments, in the URL.
// What stays:
//
//   - Names: of indices, tables, fields, aggregations, functions, parameters,
//     and all words of a language. Code of scripts, but for its strings.
//   - How long everything is, how many there are of it, upper and lower case,
//     signs and spaces; digits that stand alone in SQL and GraphQL.
//   - Numbers that ask for so much: sizes, windows, LIMIT, OFFSET, arguments of
//     generate_series, steps, boosts; bounds of ranges beside a histogram and
//     coordinates beside a grid, which make its cells. Otherwise coordinates stay
//     to the degree.
//   - Wildcards, and what is an operator in an expression or a query_string; the
//     classes of an expression, such as [a-f] or \d. A letter of an expression
//     becomes another one that all its classes hold as well.
//
// Equal values of one query become equal ones, and those of two queries do not:
// the key is random and forgotten. So a mask can neither be taken off nor be
// tried out. It is no anonymisation in the sense of a law: lengths, counts, names
// and times of day may tell who is meant to those who know a lot.
//
// Whether the masked query costs the same, its caller has to ask
// ([guard.Guard.Alike]): it nearly always does.
package mask
