// Package tables keeps settings, flows and what is read of verdicts and letters in tables of
// SQL databases. The statements are written once. The packages of the databases implement [DB]
// and describe in a [Dialect] what they write differently.
//
// Statements use PostgreSQL's placeholders ($1), and these words in braces:
//
//	{schema}.    where the tables are
//	{now}        the store's clock, in microseconds
//	{begun}      the same for comparisons with an index: it may be the time at which the transaction began
//	{least}, {greatest}
//	             functions of two values
//	{lock}       locks the rows of a SELECT against changes by other transactions
//	{skip}       like {lock}, without the rows that others have locked
//	{share}      locks the rows of a SELECT against changes, but not against other {share}
//	{rows 2: id text, n bigint}
//	             a table u with these columns: the [Rows] that are the statement's second and last argument
//
//	{json}       after a value: it is JSON
//	{true}, {bytes}
//	             the value true, and no bytes
//	{labels}, {u.labels}, {labels fit $3}
//	             a column for the labels of attempts, where there is one, its value, and a choice by it
//	{count mark}, {mark}
//	             a statement before each mark, and the next version of a mark
//	{tokens}     a statement that takes $1 tokens for attempts and returns each, or the last one
//
// The types of columns in {rows} are text, bigint, boolean and bytea.
//
// A database with one writer needs no locks. Where several nodes write, a transaction locks in
// this order, to avoid deadlocks: a node's row, rows of runs by ID, names (see [Tx]), attempts by
// token, effects by key.
package tables
