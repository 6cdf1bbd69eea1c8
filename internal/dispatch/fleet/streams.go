package fleet

// maxStreams bounds the streams of one worker that do not count as work.
const maxStreams = 10_000

// Stream marks something in flight on w as a stream until EndStream: it does not count towards MaxInFlight. It returns
// false if w has too many streams; then do not call EndStream.
func (f *Fleet) Stream(w *Worker) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.streams >= maxStreams {
		return false
	}
	w.streams++
	f.roomier(w)
	return true
}

// EndStream ends a stream. It stays in flight until Release.
func (f *Fleet) EndStream(w *Worker) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.streams--
	f.stir()
	if f.full(w) {
		f.withdraw(w)
	}
}

// roomier gives w to waiters if it has room now. The caller holds mu.
func (f *Fleet) roomier(w *Worker) {
	if f.cfg.MaxInFlight == 0 || w.state != Serving {
		return
	}
	if f.takes(w) {
		f.offer(w)
	} else {
		f.serve(w) // it is held out, but may be the last resort of a shard
	}
}
