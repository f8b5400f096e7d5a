package conformance

import (
	"sync"
	"time"
)

// Progress is the number of ended cases, with an estimate of the remaining time.
type Progress struct {
	// Done is the number of cases that have ended, and All the number of all cases.
	Done, All int
	// Last is the result of the case that ended last.
	Last Result
	// Left is the estimated time until the end of the run.
	Left time.Duration
}

// meter estimates the remaining time of a run. The costs of the remaining cases are their usual durations. The meter
// compares the durations of the ended cases with their costs, to find out how much slower than usual this target is.
type meter struct {
	report   func(Progress)
	parallel int

	mu                       sync.Mutex
	ended, all               int
	took, doneCost, leftCost time.Duration
}

// trust is a total cost of ended cases. When the ended cases have this cost, the estimate gives the measured durations
// the same weight as the assumption that this target is as fast as usual.
const trust = 5 * time.Second

func newMeter(cases []Case, parallel int, report func(Progress)) *meter {
	m := &meter{report: report, parallel: parallel, all: len(cases)}
	for i := range cases {
		m.leftCost += cases[i].cost()
	}
	return m
}

func (m *meter) done(c *Case, result Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended++
	m.took += result.Took
	m.doneCost += c.cost()
	m.leftCost -= c.cost()
	if m.report != nil {
		m.report(Progress{Done: m.ended, All: m.all, Last: result, Left: m.left()})
	}
}

func (m *meter) left() time.Duration {
	slower := float64(trust+m.took) / float64(trust+m.doneCost)
	return time.Duration(slower * float64(m.leftCost) / float64(m.parallel))
}
