package fleet

// Hands are remembered in fleets where dealing one costs more than finding it.
const (
	rememberFrom = 4    // places
	remembered   = 1024 // hands, 56 KiB; a caller's newest takes the place of another's
	widest       = 8    // workers of a remembered hand
)

// dealt is one remembered hand. It holds until a place comes or goes.
type dealt struct {
	caller              uint64
	deck, k, cells, len int32
	hand                [widest]int32
}

// recall returns a remembered hand, or false. mu is held.
func (f *Fleet) recall(caller uint64, k, cells int) ([]int, bool) {
	if len(f.dealt) == 0 {
		return nil, false
	}
	d := &f.dealt[caller%remembered]
	if d.caller != caller || d.deck != f.deck || int(d.k) != k || int(d.cells) != cells {
		return nil, false
	}
	f.hand = f.hand[:0]
	for _, i := range d.hand[:d.len] {
		f.hand = append(f.hand, int(i))
	}
	return f.hand, true
}

// remember keeps a hand if that pays. mu is held.
func (f *Fleet) remember(caller uint64, k, cells int, hand []int) {
	if len(f.places) < rememberFrom || len(hand) > widest {
		return
	}
	if f.dealt == nil {
		f.dealt = make([]dealt, remembered)
	}
	d := dealt{caller: caller, deck: f.deck, k: int32(k), cells: int32(cells), len: int32(len(hand))}
	for i, h := range hand {
		d.hand[i] = int32(h)
	}
	f.dealt[caller%remembered] = d
}
