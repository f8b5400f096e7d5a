package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// latency returns random durations of a distribution. A nil latency stands for no delay.
type latency func(*rand.Rand) time.Duration

// parseLatency parses Fault.Latency.
func parseLatency(text string) (latency, error) {
	if text == "" {
		return nil, nil
	}
	made, err := distribution(text)
	if err != nil {
		return nil, fmt.Errorf("latency %q: must be a duration such as 200ms, a range such as 100ms..300ms, a mean and a standard deviation such as 200ms+-50ms, or the mean of an exponential distribution such as ~200ms: %w", text, err)
	}
	return made, nil
}

func distribution(text string) (latency, error) {
	if mean, ok := strings.CutPrefix(text, "~"); ok {
		m, err := positive(mean)
		return func(r *rand.Rand) time.Duration { return time.Duration(r.ExpFloat64() * float64(m)) }, err
	}
	if low, high, ok := strings.Cut(text, ".."); ok {
		return uniform(low, high)
	}
	if mean, deviation, ok := strings.Cut(text, "+-"); ok {
		return normal(mean, deviation)
	}
	fixed, err := positive(text)
	return func(*rand.Rand) time.Duration { return fixed }, err
}

func uniform(low, high string) (latency, error) {
	from, err := duration(low)
	if err != nil {
		return nil, err
	}
	to, err := positive(high)
	if err == nil && to < from {
		err = fmt.Errorf("%s is less than %s", to, from)
	}
	return func(r *rand.Rand) time.Duration { return from + time.Duration(r.Int64N(int64(to-from)+1)) }, err
}

// normal returns a latency with a normal distribution. If a drawn duration is negative, the latency is 0. A negative mean
// is an error.
func normal(mean, deviation string) (latency, error) {
	m, err := duration(mean)
	if err != nil {
		return nil, err
	}
	d, err := positive(deviation)
	return func(r *rand.Rand) time.Duration { return max(0, m+time.Duration(r.NormFloat64()*float64(d))) }, err
}

func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err == nil && d < 0 {
		err = fmt.Errorf("%s is negative", d)
	}
	return d, err
}

func positive(text string) (time.Duration, error) {
	d, err := duration(text)
	if err == nil && d == 0 {
		err = fmt.Errorf("%s isn't more than 0", d)
	}
	return d, err
}

// wait returns after the time d, or when one of the contexts ends.
func wait(request, stopping context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-request.Done():
	case <-stopping.Done():
	}
}
