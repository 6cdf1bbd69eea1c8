// Package live decides which settings run: what a file says, what somebody put
// through the API, or what somebody went back to; on one node or many, with no
// restart and no half measures.
//
//	file ──changed, settled──► Check ──► a new version ─┐
//	API  ──────────────────────► Check ──► a new version ─┼─► Store ─► newest ─► Apply ─► runs here
//	rollback ─► older text ─► Check ──► a new version ─┘      ▲  │                │
//	                                                  other nodes  └─ polled        └─ fails: what ran, runs
//
// # Versions
//
// A version is a text with a number, a time, who, from where, and its SHA-256.
// Versions only go forward: going back makes a new one with the old text. A put
// compares and swaps on the newest number, so that numbers have no gaps and no
// change is lost unseen. Who puts without a base ([Live.Put], the file) goes on
// top of whatever is newest; the history has both.
//
// The file's content becomes a version when it changes while it is watched, or
// when at start it is none of the versions that are kept. At start with content
// that is known, the store's newest version runs, and that is logged: a put or
// a rollback outlives a restart. Where all nodes get the same new file, the
// first makes the version; a node that gets it later, even after a put, finds
// that it has been recorded since its own file last changed, and follows the
// newest.
//
// # Files
//
// A text may name files that go with it ([Config.Files]): their contents are part
// of the version, as a [Document]. Each part follows its own file: what becomes a
// version when a file changes is the newest with that part exchanged, and a part
// that some version has had since it changed here last, changes nothing. A put
// that names files without bringing them takes them from the newest version, or
// else from where they are on this node.
//
// # Overrides
//
// An override tightens or loosens something for a route, a caller or a plan
// until a time, at most [MaxOverride]. It ends by itself on every node: by the
// store's clock, from which each node counts on its own, cut off or not, and
// never later than the store, save while a put of this node waits for a store
// that hangs, which is at most a few Timeouts. There is one for each target and [Override.What]:
// a newer one replaces it.
//
// # Guarantees
//
// Apply is called by one goroutine at a time. A text that is empty, or that
// Check refuses, never runs and never replaces what runs. When Apply fails,
// what ran, runs on, the status says why, and it is tried again every SlowPoll,
// on [Live.Reload], and when something newer comes; meanwhile overrides still
// change.
//
// A change reaches every node that the store answers within Poll and the time
// that reading and Apply take. A store that does not answer is no reason to
// stop: the file is followed alone, its content runs as version 0, and is
// recorded when the store answers again, on top of what others have put
// meanwhile.
//
// # The file
//
// Its folder is watched, and those of all symbolic links on the way, so that
// editors that rename, and ConfigMaps that swap a link, are noticed. It is read
// when it has been left alone for Settle, and only if it was not written
// meanwhile; when it is lost, the settings stay. Where there are no
// notifications, or they got lost, it is read every SlowPoll.
//
// # Not guaranteed
//
// A writer that pauses for longer than Settle in the middle of a file whose
// beginning is valid cannot be told from one that has finished: write beside
// and rename. At start it is read as it is. Nodes do not change at the same moment. Texts are kept as they
// are: what must stay secret belongs elsewhere.
//
// # Bounds
//
// A text has at most [MaxText] bytes and [MaxFiles] files; a store keeps [MaxVersions] of them and
// [MaxOverrides] overrides. Live holds three texts at most: what runs, the
// newest, and what the file says. [DiffText] compares line by line up to
// about a thousand differing lines.
//
// # Secrets in versions
//
// A version's text is a live.Document: the settings, and after them the files of limits
// that they name, so that one sum, one history and one rollback is of both, and no table
// knows more than a text. Secrets in it are kept as they were written. Encrypted under
// the deployment's key a version could not be rolled back to by a node that has lost it;
// the key lies beside the file that has them in clear, and whoever can write the store's
// tables runs commands anyway. Refused, they would stop people whose workers know no
// other way. So they are kept, never shown (config.Redact), and the settings can name a
// place for every secret of Bezoar's own.
package live
