package conformance

import (
	"sync"
	"time"
)

// Progress is the progress of a run.
type Progress struct {
	// Done is the number of cases that have ended, and All the number of all cases.
	Done, All int
	// Last is the result of the case that ended last.
	Last Result
	// Left is the estimated time until the end of the run.
	Left time.Duration
}

// meter estimates the time until the end of a run. It compares the time since the beginning with the costs of the cases
// that have ended.
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
