package faults

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/fault"
)

// span is the range of the numbers from first to last.
type span struct{ first, last uint64 }

// spans is a list of ranges. An empty list stands for all numbers.
type spans []span

// parseNumbers parses Fault.Requests.
func parseNumbers(n fault.Numbers) (spans, error) {
	if n == "" {
		return nil, nil
	}
	var all spans
	for part := range strings.SplitSeq(string(n), ",") {
		s, err := parseSpan(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("requests %q: must have numbers from 1, as in 3, 2-5, 4- or 1,3: %w", n, err)
		}
		all = append(all, s)
	}
	return all, nil
}

func parseSpan(text string) (span, error) {
	first, last, isRange := strings.Cut(text, "-")
	from, err := strconv.ParseUint(first, 10, 64)
	if err != nil || from == 0 {
		return span{}, fmt.Errorf("%q isn't a number from 1", first)
	}
	switch {
	case !isRange:
		return span{from, from}, nil
	case last == "":
		return span{from, math.MaxUint64}, nil
	}
	to, err := strconv.ParseUint(last, 10, 64)
	if err != nil {
		return span{}, fmt.Errorf("%q isn't a number", last)
	}
	if to < from {
		return span{}, fmt.Errorf("%d is less than %d", to, from)
	}
	return span{from, to}, nil
}

func (s spans) has(n uint64) bool {
	for _, span := range s {
		if span.first <= n && n <= span.last {
			return true
		}
	}
	return len(s) == 0
}
