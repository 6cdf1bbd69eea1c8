package quota_test

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/quota"
)

func Example() {
	limiter, err := quota.New(quota.Config{Quotas: []quota.Quota{
		{Name: "per caller", Limit: 2, Per: time.Minute},
		{Name: "everybody", Unit: quota.Bytes, Limit: 1 << 20, Per: time.Second, Burst: 4 << 20},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Run would drop idle keys, and share counts if there was a store.
	alice := quota.Key{1} // in earnest, a keyed hash
	now := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	for range 3 {
		d := limiter.Admit(now, []quota.Charge{
			{Quota: 0, Key: alice, N: 1},
			{Quota: 1, N: 64 << 10},
		})
		name := limiter.Quotas()[d.Quota].Name
		fmt.Printf("allowed %v by %q: %d of %d left, again in %v\n", d.Allowed, name, d.Remaining, d.Limit, d.RetryAfter)
	}
	// Output:
	// allowed true by "per caller": 1 of 2 left, again in 0s
	// allowed true by "per caller": 0 of 2 left, again in 0s
	// allowed false by "per caller": 0 of 2 left, again in 1m30s
}
