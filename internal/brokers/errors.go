package brokers

// Kind says what is wrong between us and a broker.
type Kind int

// The kinds.
const (
	Missing     Kind = iota + 1 // a topic, queue or stream does not exist
	Denied                      // the credentials are refused, or may not do this
	Unreachable                 // no broker answers
)

// Error is an error of which people can be told what to do.
type Error struct {
	Kind Kind
	Err  error
	Fix  string // what to do
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }
