package tuning

import "testing"

func TestPercent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		live         uint64
		want         int
	}{
		{"none", "before the first collection, nothing is known", 0, 100},
		{"small", "Go's default is right for a small heap", 100 << 20, 100},
		{"large", "the garbage is bounded", 768 << 20, 50},
		{"very large", "collections must not take all the time", 100 << 30, leastPercent},
	} {
		if got := percentFor(test.live); got != test.want {
			t.Errorf("%s: %s: want %d per cent, got %d", test.name, test.reason, test.want, got)
		}
	}
}
