package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"
)

// row is a figure of the table, such as the time of a start.
type row struct {
	name   string
	format func(float64) string
	// higher is true if a higher value is better.
	higher bool
	// target is the value that miniapi should reach. If ofReference is true, target is a ratio instead: miniapi should
	// be that many times as good as kube-apiserver.
	target      float64
	ofReference bool
}

func milliseconds(v float64) string { return fmt.Sprintf("%.3g ms", v) }
func seconds(v float64) string      { return fmt.Sprintf("%.3g s", v) }
func perSecond(v float64) string    { return fmt.Sprintf("%.0f /s", v) }
func megabytes(v float64) string    { return fmt.Sprintf("%.1f MB", v) }
func times(v float64) string        { return fmt.Sprintf("%.2f", v) }
func number(v float64) string       { return fmt.Sprintf("%.0f", v) }

// The rows of the table, in its order.
var (
	fixtureFirst     = row{name: "test: start to first request answered, first server of a process", format: milliseconds, target: 150}
	fixtureLater     = row{name: "the same, later servers", format: milliseconds, target: 45}
	fixtureStop      = row{name: "stop", format: milliseconds, target: 10}
	fixtureReset     = row{name: "Reset after 100 objects", format: milliseconds, target: 10}
	fixtureRestore   = row{name: "Restore of 100 deleted objects", format: milliseconds, target: 10}
	firstStart       = row{name: "in process: start to first request answered, first server of a process", format: milliseconds, target: 80}
	laterStart       = row{name: "the same, later servers", format: milliseconds, target: 40}
	stopTime         = row{name: "stop", format: milliseconds, target: 10}
	heap             = row{name: "heap of one more idle server", format: megabytes, target: 8}
	goroutines       = row{name: "goroutines of one more idle server", format: number, target: 120}
	reset            = row{name: "Reset after 100 objects", format: milliseconds, target: 10}
	restore          = row{name: "Restore of 100 deleted objects", format: milliseconds, target: 10}
	definitionsFirst = row{name: "start with 54 definitions of 4.6 MB, first of this content", format: milliseconds, target: 1000}
	definitionsLater = row{name: "the same, later servers, more than without definitions", format: milliseconds, target: 20}
	requestedFirst   = row{name: "first request for a custom resource of the largest definition (1.4 MB), first server", format: milliseconds, target: 1000}
	requestedLater   = row{name: "the same, later servers", format: milliseconds, target: 10}
	definitionMore   = row{name: "one more definition of 14 kB by a request", format: milliseconds, target: 10}
	objectsFirst     = row{name: "start with 30 objects and 3 webhook configurations, first of this content, more than without", format: milliseconds, target: 100}
	objectsLater     = row{name: "the same, later servers", format: milliseconds, target: 10}
	objectsRequested = row{name: "the same, by requests", format: milliseconds, target: 100}
	execReady        = row{name: "miniapi serve: exec to ready line", format: milliseconds, target: 200}
	residentIdle     = row{name: "resident memory when idle", format: megabytes, target: 80}
	extensionFirst   = row{name: "runtime extension: exec to the first call, by a server that discovers it", format: milliseconds, target: 50}
	extensionCall    = row{name: "call of a runtime hook, more than plain HTTPS, p50", format: milliseconds, target: 0.2}
	newTime          = row{name: "first test on a new machine, without the download of binaries", format: seconds, target: 1, ofReference: true}
	newProcessor     = row{name: "the same, processor time", format: seconds, target: 1, ofReference: true}
	offlineTime      = row{name: "first test with a full module cache, without the network", format: seconds, target: 1, ofReference: true}
	offlineProcessor = row{name: "the same, processor time", format: seconds, target: 1, ofReference: true}
	packagesTime     = row{name: "20 test processes at once: until all have a server", format: seconds, target: 1, ofReference: true}
	packagesMemory   = row{name: "proportional memory of these servers when idle", format: megabytes, target: 1, ofReference: true}
	editTime         = row{name: "edit of a test to its result", format: milliseconds, target: 2, ofReference: true}
	editProcessor    = row{name: "the same, processor time", format: milliseconds, target: 2, ofReference: true}
	editFake         = row{name: "edit to result, with the fake clientset = 1", format: times, target: 1.15}
	editMemory       = row{name: "linker's memory, with the fake clientset = 1", format: times, target: 1.15}

	createTime = row{name: "create, one client, p50", format: milliseconds, target: 1.5, ofReference: true}
	createRate = row{name: "create, 32 clients", format: perSecond, higher: true, target: 1.5, ofReference: true}
	validated  = row{name: "create, 1 validating webhook, p50", format: milliseconds, target: 1.5, ofReference: true}
	mutated    = row{name: "create, 1 mutating webhook, p50", format: milliseconds, target: 1.5, ofReference: true}
	admitted   = row{name: "create, 3 mutating and 3 validating webhooks, p50", format: milliseconds, target: 1.5, ofReference: true}
	deleteRate = row{name: "deletecollection", format: perSecond, higher: true, target: 1.5, ofReference: true}
	deleteHook = row{name: "deletecollection, 3 validating webhooks", format: perSecond, higher: true, target: 1.5, ofReference: true}
	eventRate  = row{name: "events to 100 watchers", format: perSecond, higher: true, target: 1.5, ofReference: true}

	tracedCreate = row{name: "processor time of a create with --trace-requests, without = 1", format: times, target: 1.1}
	tracedHooks  = row{name: "the same, 3 mutating and 3 validating webhooks", format: times, target: 1.1}

	rows = []*row{
		&fixtureFirst, &fixtureLater, &fixtureStop, &fixtureReset, &fixtureRestore,
		&firstStart, &laterStart, &stopTime, &heap, &goroutines, &reset, &restore,
		&definitionsFirst, &definitionsLater, &requestedFirst, &requestedLater, &definitionMore, &objectsFirst, &objectsLater, &objectsRequested, &execReady, &residentIdle, &extensionFirst, &extensionCall,
		&newTime, &newProcessor, &offlineTime, &offlineProcessor, &packagesTime, &packagesMemory,
		&editTime, &editProcessor, &editFake, &editMemory,
		&createTime, &createRate, &validated, &mutated, &admitted, &deleteRate, &deleteHook, &eventRate,
		&tracedCreate, &tracedHooks,
	}
)

// table has the figures of miniapi, and the figures of kube-apiserver for comparison.
type table struct{ miniapi, reference column }

// column has the figures of miniapi or of kube-apiserver.
type column map[*row]float64

func newTable() *table { return &table{column{}, column{}} }

// set adds a figure to the column, and prints it on standard error at once.
func (c column) set(r *row, v float64) {
	c[r] = v
	fmt.Fprintf(os.Stderr, "%s: %s\n", r.name, r.format(v))
}

func (t *table) print(w io.Writer) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer func() { _ = out.Flush() }() // if standard output can't be written, there is no place to report it
	header := "\nwhat\tminiapi\ttarget"
	if len(t.reference) > 0 {
		header += "\treference\ttimes as good"
	}
	fmt.Fprintln(out, header)
	for _, r := range rows {
		ours, measured := t.miniapi[r]
		if !measured {
			continue
		}
		target := r.format(r.target)
		if r.ofReference {
			target = fmt.Sprintf("%.1f times", r.target)
		}
		line := fmt.Sprintf("%s\t%s\t%s", r.name, r.format(ours), target)
		if theirs, ok := t.reference[r]; ok {
			ratio := theirs / ours
			if r.higher {
				ratio = ours / theirs
			}
			line += fmt.Sprintf("\t%s\t%.1f", r.format(theirs), ratio)
		}
		fmt.Fprintln(out, line)
	}
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// ms returns a duration in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
