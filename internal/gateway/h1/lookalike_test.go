package h1

import (
	"strings"
	"testing"
)

func TestKeysOfUnusualNames(t *testing.T) {
	for name, want := range map[string]Key{
		"X_Forwarded_For": Lookalike, "x-forwarded_for": Lookalike, "X.Forwarded.For": Lookalike, "X_FORWARDED_ANYTHING": Lookalike,
		"X_Bezoar_Attempt": Lookalike, "Content_Length": Lookalike, "Transfer_Encoding": Lookalike, "X_Real_IP": Lookalike,
		"X~Request~Id": Lookalike, "X_Forwarded_" + strings.Repeat("a", 100): Lookalike, "Idempotency_Key": Lookalike,
		"Proxy": Proxy, "pROXY": Proxy, "X-Real-IP": OfProxies, "x-original-url": OfProxies, "X-Rewrite-Url": OfProxies,
		"SCRIPT_NAME": OfProxies, "script_name": OfProxies, "Path_Info": OfProxies, "Script-Name": OfProxies, "SCRIPT.NAME": Lookalike,
		"WL-Proxy-Client-IP": OfProxies, "Proxy-Client-IP": OfProxies, "X-Sendfile-Type": OfProxies, "X-Accel-Mapping": OfProxies,
		"X-Original-For": OfProxies, "X-Scheme": OfProxies, "X_Scheme": Lookalike, "X-Script-Name": OfProxies,
		"X-Original-Forwarded-For": OfProxies, "CF-Connecting-IP": OfProxies,
		"X_Tenant": Other, "X-Real-IPs": Other, "Proxy-Status": Other, "_": Other, "X-Forwarded": OfProxies,
		strings.Repeat("_", 100): Other, "X-Real-Ip-" + strings.Repeat("_", 100): Other,
	} {
		if got := KeyOf(name); got != want {
			t.Errorf("KeyOf(%q) = %d, want %d", name, got, want)
		}
	}
}

func BenchmarkKeyOfOthers(b *testing.B) {
	names := []string{"User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Cookie", "Referer", "Sec-Fetch-Mode", "Authorization"}
	b.ReportAllocs()
	for b.Loop() {
		for _, n := range names {
			if KeyOf(n) != Other {
				b.Fatal(n)
			}
		}
	}
}
