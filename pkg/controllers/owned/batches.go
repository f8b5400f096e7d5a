package owned

import "sync"

// Each calls do with 0 to n-1 at the same time, and returns the errors of the calls.
func Each(n int, do func(i int) error) []error {
	var (
		calls sync.WaitGroup
		mu    sync.Mutex
		errs  []error
	)
	for i := range n {
		calls.Go(func() {
			if err := do(i); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	calls.Wait()
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
