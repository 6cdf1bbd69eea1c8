// Package facts keeps small facts in a file that several processes of one
// machine share: what workers know of payloads and downstreams.
//
// A Tx sees what all others have written before it, and what it writes they see
// after it: transactions are one after another, whoever makes them. What
// [Store.Update] has returned nil for survives kill -9 and the machine's death.
//
// The file is a log of JSON lines, one for each fact that was put or dropped. It
// is written anew when most of it has been overtaken. A last line that was torn
// is cut off; lines that are damaged are passed over, and Note counts them.
//
// # Bounds
//
// Facts are at most MaxFact bytes each, and MaxFacts in number: when there is no
// room a Put fails and the caller says which one is to go. All of them are held
// in memory.
package facts
