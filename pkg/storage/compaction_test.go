package storage

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestCompaction(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	c := m.compaction.start(m.client.Client, time.Millisecond)
	for deadline := time.Now().Add(time.Minute); c.CompactRevision() == 0; {
		put(t, m, "/a", "1")
		if time.Now().After(deadline) {
			t.Fatal("nothing was compacted")
		}
	}
}

func TestCompactionWaits(t *testing.T) {
	t.Parallel()
	const never = 24 * time.Hour
	for _, c := range []struct {
		name            string
		interval, large time.Duration // the database is large from this time on
		want            time.Duration
		reason          string
	}{
		{"small", 5 * time.Minute, never, 5 * time.Minute, "the interval is the one of kube-apiserver's flag"},
		{"large", 5 * time.Minute, 0, time.Minute, "a list in pages needs the time until its last page"},
		{"grows", 5 * time.Minute, 90 * time.Second, 2 * time.Minute, "the size matters at the end of a shorter interval"},
		{"short interval", time.Second, 0, time.Second, "a shorter interval by the flag stays"},
		{"uneven interval", 90 * time.Second, never, 90 * time.Second, "the interval needn't be a multiple of the shorter one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				waiting := compaction{isLarge: func() bool { return time.Since(began) >= c.large }}
				if !waiting.wait(t.Context(), c.interval) {
					t.Error("false, want true: the context hasn't ended")
				}
				if waited := time.Since(began); waited != c.want {
					t.Errorf("waited %s, want %s: %s", waited, c.want, c.reason)
				}
			})
		})
	}
	t.Run("ends", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if new(compaction).wait(ctx, never) {
			t.Error("true, want false: the context has ended")
		}
	})
}
