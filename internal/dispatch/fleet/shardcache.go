package fleet

// Shards are cached in fleets where computing one costs more than finding it.
const (
	cacheShardsFrom = 4    // places
	shardCacheSize  = 1024 // shards, 56 KiB; a new one may replace another caller's
	maxCachedShard  = 8    // workers of a cached shard
)

// cachedShard is a cached shard. It is valid until a place is added or removed.
type cachedShard struct {
	caller                    uint64
	generation, k, cells, len int32
	places                    [maxCachedShard]int32
}

// lookupShard returns a cached shard, or false. The caller holds mu.
func (f *Fleet) lookupShard(caller uint64, k, cells int) ([]int, bool) {
	if len(f.shardCache) == 0 {
		return nil, false
	}
	d := &f.shardCache[caller%shardCacheSize]
	if d.caller != caller || d.generation != f.generation || int(d.k) != k || int(d.cells) != cells {
		return nil, false
	}
	f.scratchShard = f.scratchShard[:0]
	for _, i := range d.places[:d.len] {
		f.scratchShard = append(f.scratchShard, int(i))
	}
	return f.scratchShard, true
}

// cacheShard caches a shard if that pays. The caller holds mu.
func (f *Fleet) cacheShard(caller uint64, k, cells int, members []int) {
	if len(f.places) < cacheShardsFrom || len(members) > maxCachedShard {
		return
	}
	if f.shardCache == nil {
		f.shardCache = make([]cachedShard, shardCacheSize)
	}
	d := cachedShard{caller: caller, generation: f.generation, k: int32(k), cells: int32(cells), len: int32(len(members))}
	for i, h := range members {
		d.places[i] = int32(h)
	}
	f.shardCache[caller%shardCacheSize] = d
}
