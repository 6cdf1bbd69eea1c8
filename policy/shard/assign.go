package shard

// Name hashes a worker's name for [Assign]. It is the same in every process, so that all nodes give a caller the same
// shard.
func Name(name string) uint64 {
	h := uint64(0xcbf29ce484222325) // FNV-1a; its low bits are weak, and mix corrects that
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	return mix(h)
}

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood, 2014): every bit
// of x changes every bit of the result with probability one half.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Assign gives caller k of the workers, whose names are hashed by [Name]. It appends their indices to dst, the most
// preferred first, and returns dst. If k is at least len(workers), it gives all.
func Assign(caller uint64, workers []uint64, k int, dst []int) []int {
	return AssignAmong(caller, workers, k, dst, nil)
}

// AssignAmong gives only workers for which may returns true; nil means all. The result is the shard of a fleet with only
// these workers.
func AssignAmong(caller uint64, workers []uint64, k int, dst []int, may func(i int) bool) []int {
	if k <= 0 {
		return dst
	}
	from := len(dst)
	salt := mix(caller)
	score := func(i int) uint64 { return mix(salt ^ workers[i]) }
	var least uint64 // the lowest score of those chosen, once there are k
	for i := range workers {
		if may != nil && !may(i) {
			continue
		}
		s := score(i)
		full := len(dst)-from == k
		if full && s <= least {
			continue
		}
		if full {
			dst = dst[:len(dst)-1]
		}
		dst = append(dst, i)
		at := len(dst) - 1
		for ; at > from && score(dst[at-1]) < s; at-- {
			dst[at] = dst[at-1]
		}
		dst[at] = i
		least = score(dst[len(dst)-1])
	}
	return dst
}

// Default returns the default size of a shard in a fleet of n workers: 2 up to 8 workers, 3 up to 15, 4 from 16 on, and
// never more than n.
func Default(n int) int {
	switch {
	case n <= 2:
		return max(n, 0)
	case n <= 8:
		return 2
	case n < 16:
		return 3
	}
	return 4
}
