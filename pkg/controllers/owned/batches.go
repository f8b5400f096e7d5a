package owned

import (
	"sync"

	"golang.org/x/sync/errgroup"
)

// calls is the number of calls of Each at the same time. The five workers of some controllers together stay below the
// number of writes that the server takes at the same time, by default 200.
const calls = 32

// Each calls do with 0 to n-1, some of them at the same time, and returns the errors of the calls.
func Each(n int, do func(i int) error) (errs []error) {
	var (
		group errgroup.Group
		mu    sync.Mutex
	)
	group.SetLimit(calls)
	for i := range n {
		group.Go(func() error {
			if err := do(i); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	return errs
}

// SlowStart calls do with 0 to n-1, in batches of calls at the same time. The first batch has one call, and each further
// batch has twice as many. After a batch with an error, SlowStart returns the error: a cause that lets all creations fail,
// such as a quota, is met by few requests. The first result is the number of calls without an error.
func SlowStart(n int, do func(i int) error) (succeeded int, err error) {
	for first, size := 0, 1; first < n; first, size = first+size, 2*size {
		size = min(size, n-first)
		errs := Each(size, func(i int) error { return do(first + i) })
		succeeded += size - len(errs)
		if len(errs) > 0 {
			return succeeded, errs[0]
		}
	}
	return succeeded, nil
}
