package fleet

// maxStreams bounds the streams of one worker that do not count as work.
const maxStreams = 10_000

// Stream says that something in flight on w is a stream from now on, until
// EndStream: it does not count towards MaxInFlight. It reports false when w has as
// many as it may; EndStream is not owed then.
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

// EndStream says that a stream has ended. It is in flight until Release.
func (f *Fleet) EndStream(w *Worker) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.streams--
	if f.full(w) {
		f.withdraw(w)
	}
}

// roomier gives w to those who wait, when it has got room. mu is held.
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
