package conformance

import (
	"sync"
	"time"
)

// Progress is how far a run is.
type Progress struct {
	// Done is the number of cases that have ended, of All.
	Done, All int
	// Last is the result of the case that ended last.
	Last Result
	// Left is about how long the rest of the run takes.
	Left time.Duration
}

// meter estimates the rest of a run: what the cases done have taken, by their costs, says how slow the target is.
type meter struct {
	report func(Progress)

	mu                 sync.Mutex
	began              time.Time
	ended, all         int
	doneCost, leftCost time.Duration
}

func newMeter(cases []Case, report func(Progress)) *meter {
	m := &meter{report: report, began: time.Now(), all: len(cases)}
	for i := range cases {
		m.leftCost += cases[i].cost()
	}
	return m
}

func (m *meter) done(c *Case, result Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended++
	m.doneCost += c.cost()
	m.leftCost -= c.cost()
	if m.report == nil {
		return
	}
	left := time.Duration(float64(time.Since(m.began)) * float64(m.leftCost) / float64(m.doneCost))
	m.report(Progress{Done: m.ended, All: m.all, Last: result, Left: left})
}
