// Package guardfront holds the requests of a guarded route against their guard: it finds the
// queries in a request, has them judged, and says what the caller is told, in the form that
// clients of the backend understand.
//
// A front makes a [Check] for each request: [Check.Judge] before a worker sees it, and
// [Check.Observe] after. A [Recorder] keeps what was judged in a file.
package guardfront
