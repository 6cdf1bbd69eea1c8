package elastic

import "bytes"

const geohashAlphabet = "0123456789bcdefghjkmnpqrstuvwxyz"

func geohashCell(b []byte) (box, bool) {
	w := world()
	if len(b) == 0 || len(b) > 12 {
		return w, false
	}
	even := true
	for _, c := range b {
		v := bytes.IndexByte([]byte(geohashAlphabet), c|0x20*boolByte(c >= 'A'))
		if v < 0 {
			return w, false
		}
		for bit := 4; bit >= 0; bit-- {
			high := v>>bit&1 == 1
			lo, hi := &w.bottom, &w.top
			if even {
				lo, hi = &w.left, &w.right
			}
			if mid := (*lo + *hi) / 2; high {
				*lo = mid
			} else {
				*hi = mid
			}
			even = !even
		}
	}
	return w, true
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}
