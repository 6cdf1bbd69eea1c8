package blame

// accused is one distinct piece of work in flight when an epoch ended. Copies
// of it that were in flight together answer as one: one crash is one crash,
// however often its suspect was there.
type accused struct {
	ticket    uint32 // first of its tickets, chained by next; none when it is not in flight
	work      Work   // with its variant
	features  []uint64
	record    float64 // decayed successes that speak for it
	prior     float64
	weight    float64
	share     float64
	group     uint32 // that it was the probe of, or none
	bystander bool   // it came when its worker had been silent for long
	lane      bool
	late      bool  // it was answered before the worker died
	started   int64 // when it started, of what is late
	crowd     bool  // others were in flight beside it
	stream    bool  // its answer had been streaming for longer than the window
}

// proven reports whether its work has a record of success.
func (a *accused) proven() bool { return a.record >= provenWell }

// popular reports whether it has a long one.
func (a *accused) popular() bool { return a.record >= provenPopular }
