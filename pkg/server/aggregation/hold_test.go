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
		a.runner.Go(r.run)
		<-asked
		first, second := a.Hold(), a.Hold()
		for _, release := range []func(){first, second} {
			r.checkSoon()
			synctest.Wait()
			select {
			case <-asked:
				t.Error("a check began during a hold")
			default:
			}
			release()
		}
		<-asked
		if waited := time.Since(begin); waited > 0 {
			t.Errorf("the server is asked again after %v", waited)
		}
	})
}

// TestHoldEndsWithRemote checks that a hold keeps neither a check nor a request of the discovery manager waiting after
// the end of the remoteAPI.
func TestHoldEndsWithRemote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, r, manager := listingOf(t)
		defer a.Hold()()
		var waiting sync.WaitGroup
		waiting.Go(r.run)
		waiting.Go(manager.ask)
		synctest.Wait()
		r.cancel()
		waiting.Wait()
		if q := a.listing.asked[r.gv]; !q.broken {
			t.Error("the discovery manager takes the interrupted request for an answer")
		}
	})
}
