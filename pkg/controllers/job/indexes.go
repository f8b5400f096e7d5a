package job

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// indexes is a set of completion indexes. The intervals are in order, and neither overlap nor touch.
type indexes []interval

// interval has the indexes from first to last.
type interval struct{ first, last int }

// indexesOf returns the set of some indexes.
func indexesOf(of ...int) indexes {
	var intervals indexes
	for _, i := range of {
		intervals = append(intervals, interval{i, i})
	}
	return indexes(nil).union(intervals)
}

// parseIndexes returns the set that a text describes, such as "0,2-4", without indexes of limit or more. It leaves out
// what it can't parse.
func parseIndexes(text string, limit int) indexes {
	var parsed indexes
	for part := range strings.SplitSeq(text, ",") {
		from, to, isInterval := strings.Cut(part, "-")
		if !isInterval {
			to = from
		}
		first, err := strconv.Atoi(from)
		if err != nil || first >= limit {
			continue
		}
		last, err := strconv.Atoi(to)
		if err != nil {
			continue
		}
		parsed = append(parsed, interval{first, min(last, limit-1)})
	}
	return indexes(nil).union(parsed)
}

// String returns the text of status.completedIndexes and status.failedIndexes.
func (x indexes) String() string {
	var parts []string
	for _, i := range x {
		switch i.last - i.first {
		case 0:
			parts = append(parts, strconv.Itoa(i.first))
		case 1:
			parts = append(parts, strconv.Itoa(i.first), strconv.Itoa(i.last))
		default:
			parts = append(parts, strconv.Itoa(i.first)+"-"+strconv.Itoa(i.last))
		}
	}
	return strings.Join(parts, ",")
}

// union returns the indexes of both sets. The intervals of y may be in any order, and may overlap.
func (x indexes) union(y indexes) (all indexes) {
	both := slices.Concat(x, y)
	slices.SortFunc(both, func(a, b interval) int { return cmp.Compare(a.first, b.first) })
	for _, i := range both {
		if end := len(all) - 1; end >= 0 && i.first <= all[end].last+1 {
			all[end].last = max(all[end].last, i.last)
		} else {
			all = append(all, i)
		}
	}
	return all
}

// len returns the number of indexes.
func (x indexes) len() (n int) {
	for _, i := range x {
		n += i.last - i.first + 1
	}
	return n
}

// has reports whether the set has an index.
func (x indexes) has(index int) bool {
	at, found := slices.BinarySearchFunc(x, index, func(i interval, index int) int { return cmp.Compare(i.first, index) })
	return found || at > 0 && x[at-1].last >= index
}

// common returns the number of indexes that both sets have.
func (x indexes) common(y indexes) (n int) {
	for len(x) > 0 && len(y) > 0 {
		n += max(0, min(x[0].last, y[0].last)-max(x[0].first, y[0].first)+1)
		if x[0].last < y[0].last {
			x = x[1:]
		} else {
			y = y[1:]
		}
	}
	return n
}

// missing returns the first n indexes below limit that the set lacks.
func (x indexes) missing(n, limit int) (missing []int) {
	next := 0
	for _, i := range append(slices.Clone(x), interval{limit, limit}) {
		for ; next < min(i.first, limit) && len(missing) < n; next++ {
			missing = append(missing, next)
		}
		next = max(next, i.last+1)
	}
	return missing
}
