package guard

import "github.com/bezoar-dev/bezoar/guard/cost"

// readerOf makes the reader for a kind.
func readerOf(k Kind) cost.Reader {
	return notRead(k)
}

// notRead refuses what no reader knows.
type notRead Kind

func (k notRead) Read(dst []cost.Measure, _ cost.Query, _ cost.Options) ([]cost.Measure, error) {
	return dst, &cost.Unreadable{Reason: "queries of the kind " + string(k) + " are not read", Offset: -1}
}
