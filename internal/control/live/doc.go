// Package live decides which settings run: those of a file, of the API, or of an earlier
// version. It works for one or many nodes and changes settings without a restart.
//
//	file ──changed, settled──► Check ──► a new version ─┐
//	API  ──────────────────────► Check ──► a new version ─┼─► Store ─► newest ─► Apply ─► runs here
//	rollback ─► older text ─► Check ──► a new version ─┘      ▲  │                │
//	                                                  other nodes  └─ polled        └─ fails: what ran, runs
//
// # Versions
//
// A version is a text with a number, a time, an author, a source and a SHA-256. Numbers
// only increase: a rollback creates a new version with the old text. A put compares the
// newest number and swaps, so numbers have no gaps and no change is lost unnoticed. A put
// without a base ([Live.Put], the file) replaces whatever is newest; the history keeps
// both.
//
// The content of the file becomes a version when it changes while it is watched, or when,
// at the start, it equals none of the stored versions. If the content is known at the
// start, the store's newest version runs, and the log says so: a put or a rollback survives
// a restart. If all nodes get the same new file, the first one creates the version. A node
// that gets the file later, even after a put, finds that it was recorded since the node's
// own file last changed, and follows the newest version.
//
// # Files
//
// A text may name files that belong to it ([Config.Files]). Their contents are part of the
// version, as a [Document]. Each part follows its own file: when a file changes, the newest
// version with this part replaced becomes a new version. A part that was in some version
// since it last changed on this node changes nothing. If a put names files without
// providing them, they are taken from the newest version, or else from this node.
//
// # Overrides
//
// An override tightens or loosens a limit for a route, a caller or a plan until a time, at
// most [MaxOverride] from now. It ends by itself on every node. The store's clock
// determines the end. Each node then counts on its own, even if it is cut off, and never
// ends an override later than the store. The only exception is a put of this node that
// waits for a store that hangs, which is at most a few Timeouts. There is one override per
// target and [Override.What]; a newer one replaces it.
//
// # Guarantees
//
// Apply is called by one goroutine at a time. A text that is empty, or that Check rejects,
// never runs and never replaces the running one. If Apply fails, the previous settings keep
// running, and the status has the reason. Apply is repeated every SlowPoll, on
// [Live.Reload], and when something newer arrives. Meanwhile overrides still change.
//
// A change reaches every node with access to the store within Poll plus the time to read
// and apply it. If the store does not answer, Live continues: it follows the file alone,
// whose content runs as version 0. When the store answers again, the content is recorded
// after the versions that others have put in the meantime.
//
// # The file
//
// Live watches the file's directory and those of all symbolic links on the path. So it
// notices editors that rename, and ConfigMaps that replace a link. It reads the file after
// it has been unchanged for Settle, and only if it was not written during the read. If the
// file disappears, the settings stay. Without notifications, or if some were lost, Live
// reads the file every SlowPoll.
//
// # Not guaranteed
//
// If a writer pauses for longer than Settle in the middle of a file whose beginning is
// valid, Live cannot know that it has not finished: write to another file and rename it. At
// the start the file is read as it is. Nodes do not change at the same moment. Texts are
// stored unchanged, so secrets belong elsewhere.
//
// # Limits
//
// A text has at most [MaxText] bytes and [MaxFiles] files. A store keeps [MaxVersions]
// texts and [MaxOverrides] overrides. Live holds at most three texts: the running one, the
// newest, and that of the file. [DiffText] compares line by line up to about a thousand
// differing lines.
//
// # Secrets in versions
//
// The text of a version is a [Document]: the settings, followed by the files of limits that
// they name. So one sum, one history and one rollback cover both, and no table stores more
// than a text. Secrets in it are stored as they were written. If versions were encrypted
// with the deployment's key, a node that has lost the key could not roll back; the key lies
// beside the file with the secrets in clear text, and anyone who can write the store's
// tables can run commands anyway. If versions with secrets were rejected, users whose
// workers accept secrets in no other way could not use them. So secrets are stored but
// never shown (config.Redact), and the settings offer a separate place for each of Bezoar's
// own secrets.
package live
