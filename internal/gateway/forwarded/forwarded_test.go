package forwarded

import (
	"net/netip"
	"testing"
)

func FuzzHops(f *testing.F) {
	for _, s := range []string{"1.2.3.4:5", `for="[::1]:2", for=_x;by="a,b"`, `"`, ",,", "[", "for=;"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, list string, forwarded bool) {
		w := Hops{Proxies: proxies, IP: "10.0.0.1"}
		w.Follow(list, forwarded)
		if _, err := netip.ParseAddr(w.IP); err != nil && w.IP != UnknownCaller && !isObscured(w.IP) {
			t.Errorf("%q: the caller is %q", list, w.IP)
		}
	})
}
