package main

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// bodies makes messages of which no two are the same: of copies, Bezoar hands
// out the first alone until it is known to do no harm. They are text that needs
// no escapes anywhere.
type bodies struct{ made atomic.Int64 }

const numberDigits = 12

var filler = strings.Repeat("abcdefghijklmnopqrstuvwxyz", bodyBytes/26+1)[:bodyBytes-numberDigits]

func (b *bodies) next() string { return fmt.Sprintf("%0*d", numberDigits, b.made.Add(1)) + filler }
