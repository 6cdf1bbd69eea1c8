// Package hints polls Elasticsearch and OpenSearch for data that helps the guard: sizes and
// fields of indices.
//
//	         every Interval
//	Poller ─► _cluster/health, _cat/indices, _mapping, _alias, _data_stream ─► guard.HintStore
//
// A [Poller] polls at intervals. After a failure it waits for Backoff, with jitter.
//
// # Guarantees
//
//   - The poller sends one request at a time, with X-Opaque-Id: bezoar-hints and a timeout.
//     It reads at most MaxAnswer bytes of a response, and does not follow redirects.
//   - While the backend is red, the poller requests only its health.
//   - Memory is bounded: MaxIndices, MaxFields per index, 200 000 fields in total. The
//     largest indices come first.
//   - After a response that cannot be read, the hints stay as they were, and grow old.
//     [Poller.Status] has the reason.
//
// # Not guaranteed
//
// The poller does not determine how many values a field has and what range they cover.
// Provide these in a file of hints.
//
// The poller writes nothing to the backend. Its user needs the privileges monitor on the
// cluster and view_index_metadata on the indices. Without monitor, it uses _stats and
// _settings instead of _cat/indices.
package hints
