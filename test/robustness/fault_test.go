//go:build unix

package robustness_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"
)

// fault is a row of a table of faults.
type fault struct {
	kind string
	// inject breaks something for a while, and repairs it, also if ctx ends.
	inject func(ctx context.Context, random *rand.Rand) error
}

const (
	// longestFault and longestQuiet are the limits of the random durations of faults, and of the times between them.
	longestFault = 2 * time.Second
	longestQuiet = 3 * time.Second
)

// inject injects random faults until ctx ends, one at a time from each table, and returns their numbers by their kinds.
func inject(ctx context.Context, tables [][]fault) (map[string]int, error) {
	var mu sync.Mutex
	counts, errs := map[string]int{}, []error{}
	var injecting sync.WaitGroup
	for i, table := range tables {
		injecting.Go(func() {
			random := rand.New(rand.NewPCG(*seed, uint64(i)))
			for quiet(ctx, random); ctx.Err() == nil; quiet(ctx, random) {
				f := table[random.IntN(len(table))]
				err := f.inject(ctx, random)
				mu.Lock()
				counts[f.kind]++
				if err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", f.kind, err))
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	injecting.Wait()
	return maps.Clone(counts), errors.Join(errs...)
}

// last returns after a random time, or when ctx ends.
func last(ctx context.Context, random *rand.Rand, longest time.Duration) {
	timer := time.NewTimer(time.Duration(random.Int64N(int64(longest))))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func quiet(ctx context.Context, random *rand.Rand) { last(ctx, random, longestQuiet) }
