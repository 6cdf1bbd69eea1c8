// Package facts keeps small facts in a file that several processes of one machine share:
// what workers know about payloads and downstreams.
//
// Transactions of all processes run one after another. When [Store.Update] returns nil,
// its changes survive kill -9 and a power failure.
//
// The file is a log of JSON lines, one for each fact that was put or dropped. It is
// rewritten when most of its lines are out of date. An incomplete last line is cut off.
// Damaged lines are skipped, and Note counts them.
//
// # A process that is stopped
//
// A process that is stopped (SIGSTOP) in a transaction keeps the lock. Another process
// waits for the lock for Config.Wait the first time, and hardly at all after that.
// Meanwhile its transactions run on the facts that it has in memory, one log line says
// so, and their changes stay in memory. The next Update or View that finds the lock free
// writes them, except for facts that other processes have changed meanwhile. Until then
// the changes do not survive this process.
//
// # Bounds
//
// A fact has at most MaxFact bytes, and there are at most MaxFacts. When there is no room,
// a Put fails and the caller decides which fact to drop. All facts are held in memory.
package facts
