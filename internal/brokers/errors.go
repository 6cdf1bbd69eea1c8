package brokers

// Kind classifies an error of a broker connection.
type Kind int

// Kinds of errors.
const (
	Missing     Kind = iota + 1 // a topic, queue or stream does not exist
	Denied                      // the broker refuses the credentials, or they lack permissions
	Unreachable                 // no broker answers
)

// Error is an error with advice for the user.
type Error struct {
	Kind Kind
	Err  error
	Fix  string // what the user can do
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }
