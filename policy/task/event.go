package task

// Event is what happens to a task.
type Event uint8

// The events.
const (
	NeedsMet    Event = iota // its needs let it run
	NeedsHeld                // one of its needs waits for a person
	NeedsFailed              // one of its needs failed for good
	Release                  // what held it, or failed, goes on again
	Begin                    // an attempt was written down, or its instances go on
	Succeed                  //
	SetAside                 // there is no further attempt without a person
	GiveUp                   // the same, and its failure is permitted
	TryAgain                 // it failed, and has a next attempt
	LookAgain                // a sensor has not found what it waits for
	Interrupt                // the infrastructure ended its attempt
	Due                      // its time has come
	HoldBack                 // its siblings, or its instances, wait for a person
	Retry                    // a person wants it
	Skip                     // likewise
	Cancel                   // likewise
	Deadline                 // the run's deadline is over
)

// Events is the number of events.
const Events = int(Deadline) + 1

// String returns the event's name.
func (e Event) String() string {
	names := [...]string{
		"needs met", "needs held", "needs failed", "release", "begin", "succeed", "set aside", "give up", "try again", "look again",
		"interrupt", "due", "hold back", "retry", "skip", "cancel", "deadline",
	}
	if int(e) < len(names) {
		return names[e]
	}
	return "unknown"
}

// Next returns the state after s when e happens, and whether e can happen in s. If it cannot, the state stays.
func (s State) Next(e Event) (State, bool) {
	next := s.next(e)
	if next == "" {
		return s, false
	}
	return next, true
}

func (s State) next(e Event) State {
	switch s {
	case Pending:
		return s.pending(e)
	case Ready:
		return s.ready(e)
	case Running:
		return s.running(e)
	case Retrying, Sensing, Interrupted:
		return s.waiting(e)
	case DeadLetter, Held, Failed, UpstreamFailed, Cancelled:
		return s.stopped(e)
	case Success, Skipped:
	}
	return ""
}

func (s State) pending(e Event) State {
	switch e {
	case NeedsMet:
		return Ready
	case NeedsHeld:
		return Held
	case NeedsFailed:
		return UpstreamFailed
	default:
		return ordered(e)
	}
}

func (s State) ready(e Event) State {
	switch e {
	case Begin:
		return Running
	case Succeed: // it has no items, or its side effect has happened
		return Success
	case SetAside:
		return DeadLetter
	case GiveUp, Deadline:
		return Failed
	case HoldBack:
		return Held
	default:
		return ordered(e)
	}
}

func (s State) running(e Event) State {
	switch e {
	case Succeed:
		return Success
	case SetAside:
		return DeadLetter
	case GiveUp, Deadline:
		return Failed
	case TryAgain:
		return Retrying
	case LookAgain:
		return Sensing
	case Interrupt:
		return Interrupted
	case HoldBack: // of a task whose instances wait
		return Held
	default:
		return ordered(e)
	}
}

func (s State) waiting(e Event) State {
	switch {
	case e == Due || e == Retry:
		return Ready
	case e == Deadline:
		return Failed
	case e == HoldBack && s == Interrupted:
		return Held
	default:
		return ordered(e)
	}
}

// stopped handles states that only people or needs can end.
func (s State) stopped(e Event) State {
	switch e {
	case Retry:
		if s == DeadLetter {
			return Ready
		}
		return Pending
	case Release:
		if s == Held || s == UpstreamFailed {
			return Pending
		}
	case NeedsFailed:
		if s == Held {
			return UpstreamFailed
		}
	case Begin: // of a task whose instances go on
		if s == Held || s == Failed || s == Cancelled {
			return Running
		}
	case Skip, Cancel:
		if s == Held || s == DeadLetter {
			return ordered(e)
		}
	}
	return ""
}

func ordered(e Event) State {
	switch e {
	case Skip:
		return Skipped
	case Cancel:
		return Cancelled
	default:
		return ""
	}
}
