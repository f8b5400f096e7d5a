package aggregation

import (
	"context"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type somewhere struct{}

func (somewhere) ResolveEndpoint(string, string, int32) (*url.URL, error) {
	return &url.URL{Scheme: "https", Host: "localhost"}, nil
}

// TestHold checks that the aggregator checks no other server while a snapshot is restored. After the restore, the
// aggregator checks every server at once, and doesn't wait for the next check that is due.
func TestHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, r := with(t, nil)
		asked := make(chan struct{})
		a.config.Services = somewhere{}
		a.config.Identity = func(ctx context.Context) (cert, key []byte, err error) {
			select {
			case asked <- struct{}{}:
			case <-ctx.Done():
			}
			<-ctx.Done() // the check lasts until Hold interrupts it
			return nil, nil, ctx.Err()
		}
		begin := time.Now() // the clock is the fake one of package synctest
		a.begin(r.run)
		<-asked
		var holders sync.WaitGroup
		for range 2 {
			holders.Go(func() {
				defer a.Hold()()
				if a.checks.running.TryRLock() {
					a.checks.running.RUnlock()
					t.Error("a check could begin")
				}
			})
		}
		holders.Wait()
		<-asked
		if waited := time.Since(begin); waited > 0 {
			t.Errorf("the server is asked again after %v", waited)
		}
		r.cancel()
		a.running.Wait()
	})
}
