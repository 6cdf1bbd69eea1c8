// Package hints asks Elasticsearch and OpenSearch what the guard wants to know of
// the data, and learns it from their answers.
//
//	         every Interval                          every night, one field at a time
//	Poller ─► _cluster/health, _cat/indices,         ─► _search: cardinality, min, max
//	          _mapping, _alias, _data_stream            of the chosen fields
//	               │                                        │
//	               └───────────────► guard.HintStore ◄──────┘
//	                                    ▲  Polled
//	Learner ◄─ head of an answer        │  Learned: lower bounds only
//	   └─ cardinalities ────────────────┘
//	   └─ predicted and actual of each shape
//
// A [Poller] waits, asks, and waits longer when that went badly:
//
//	         Interval, or the night's Pause
//	waiting ────────────────────────────────► asking ──┐ answered: the pause halves
//	   ▲                                               │ slow: it doubles, up to MaxPause
//	   └───────────────────────────────────────────────┘ red, refused, broken: Backoff, with jitter
//
// # What is guaranteed
//
//   - One request at a time, each with X-Opaque-Id: bezoar-hints, a preference of
//     its own so that the caches of other searches stay, a timeout, and an answer
//     that is read up to MaxAnswer. Redirects are not followed.
//   - While the backend is red nothing but its health is asked.
//   - Memory is bounded: MaxIndices, MaxFields of each, 200 000 fields in all, the
//     largest indices first; of answers to others MaxHead bytes, MaxLearned
//     fields and MaxShapes shapes.
//   - An answer that cannot be read changes nothing: the hints stay as they
//     were, and grow old. [Poller.Status] says why.
//   - What is learned never makes a query cheaper: only cardinalities
//     above what is assumed anyway are told, and they only raise what is known.
//   - What callers make up teaches nothing: an answer is believed only where the
//     answer to an aggregation of a field lies, and not when the request computes
//     its values (script, runtime_mappings, missing) or has names that could be
//     taken for others.
//   - Reading answers costs callers no time: a [Note] is filled while an answer
//     passes, at most MaxNotes at once, and Run reads them in a tenth of one core.
//
// # What is not
//
// Cardinalities are those of the backend's own estimate. Beyond SampleDocs
// documents of a shard they are extrapolated: as unique when half of the values
// were new, else by the square root, which is how the words of a text grow (Heaps).
// What was measured at night is lost with the process, unless AtStart asks again.
//
// Nothing is written to the backend. The user needs monitor on the cluster,
// view_index_metadata and read on the indices; without monitor, _stats and
// _settings are asked instead of _cat/indices.
package hints
