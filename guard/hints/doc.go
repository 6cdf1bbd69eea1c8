// Package hints asks Elasticsearch and OpenSearch what the guard wants to know of
// the data.
//
//	         every Interval
//	Poller ─► _cluster/health, _cat/indices, _mapping, _alias, _data_stream ─► guard.HintStore
//
// A [Poller] waits, asks, and waits longer when that went badly: Backoff, with
// jitter.
//
// # Guarantees
//
//   - One request at a time, each with X-Opaque-Id: bezoar-hints, a timeout, and an
//     answer that is read up to MaxAnswer. Redirects are not followed.
//   - While the backend is red nothing but its health is asked.
//   - Memory is bounded: MaxIndices, MaxFields of each, 200 000 fields in all, the
//     largest indices first.
//   - An answer that cannot be read changes nothing: the hints stay as they
//     were, and grow old. [Poller.Status] says why.
//
// # Not guaranteed
//
// How many values a field has, and what range they cover, is not asked: a file of
// hints says it.
//
// Nothing is written to the backend. The user needs monitor on the cluster and
// view_index_metadata on the indices; without monitor, _stats and
// _settings are asked instead of _cat/indices.
package hints
