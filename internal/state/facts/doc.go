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
// # A process that stands still
//
// One that is stopped in a transaction keeps the lock. No other waits for it for
// longer than Config.Wait, and from then on hardly at all: transactions run on
// what this process knows, one line in the log says so, and what they change is
// held in memory. The next Update or View that finds the lock free writes it,
// except for facts that others have changed meanwhile, which stay as they wrote
// them. Until then nothing of it survives this process.
//
// # Bounds
//
// Facts are at most MaxFact bytes each, and MaxFacts in number: when there is no
// room a Put fails and the caller says which one is to go. All of them are held
// in memory.
package facts
