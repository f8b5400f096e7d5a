//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
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

// firstTarget is the longest time in milliseconds that a first request should take.
const firstTarget = 100

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

	createTime   = row{name: "create, one client, p50", format: milliseconds, target: 1.5, ofReference: true}
	createJSON   = row{name: "create in JSON, p50", format: milliseconds, target: 1.5, ofReference: true}
	createRate   = row{name: "create, 32 clients", format: perSecond, higher: true, target: 1.5, ofReference: true}
	createPod    = row{name: "create of a pod, p50", format: milliseconds, target: 1.5, ofReference: true}
	getPod       = row{name: "get of a pod, p50", format: milliseconds, target: 1.5, ofReference: true}
	getCached    = row{name: "get at resource version 0, p50", format: milliseconds, target: 1.5, ofReference: true}
	patchPod     = row{name: "merge patch of a pod, p50", format: milliseconds, target: 1.5, ofReference: true}
	patchStatus  = row{name: "strategic merge patch of a pod's status, p50", format: milliseconds, target: 1.5, ofReference: true}
	applyPod     = row{name: "apply of a pod, p50", format: milliseconds, target: 1.5, ofReference: true}
	eventRate    = row{name: "events to 100 watchers", format: perSecond, higher: true, target: 2, ofReference: true}
	eventRate300 = row{name: "events to 300 watchers", format: perSecond, higher: true, target: 2, ofReference: true}
	deleteRate   = row{name: "deletecollection", format: perSecond, higher: true, target: 1.5, ofReference: true}
	validated    = row{name: "create, 1 validating webhook, p50", format: milliseconds, target: 2.5, ofReference: true}
	validated3   = row{name: "create, 3 validating webhooks, p50", format: milliseconds, target: 2.5, ofReference: true}
	mutated      = row{name: "create, 1 mutating webhook, p50", format: milliseconds, target: 2.5, ofReference: true}
	mutated3     = row{name: "create, 3 mutating webhooks, p50", format: milliseconds, target: 2.5, ofReference: true}
	admitted     = row{name: "create, 3 mutating and 3 validating webhooks, p50", format: milliseconds, target: 2.5, ofReference: true}
	admittedRate = row{name: "the same, 32 clients", format: perSecond, higher: true, target: 2.5, ofReference: true}
	deleteHook   = row{name: "deletecollection, 3 validating webhooks", format: perSecond, higher: true, target: 2.5, ofReference: true}
	listFirst    = row{name: "10 lists of 20,000 pods at once, the first ones", format: milliseconds, target: 2, ofReference: true}
	listAll      = row{name: "list of 20,000 pods", format: milliseconds, target: 2, ofReference: true}
	listCached   = row{name: "the same at resource version 0", format: milliseconds, target: 2, ofReference: true}
	listJSON     = row{name: "the same in JSON", format: milliseconds, target: 2, ofReference: true}
	listPages    = row{name: "the same in pages of 500", format: milliseconds, target: 2, ofReference: true}
	listTenth    = row{name: "list of every tenth of the pods, by a label", format: milliseconds, target: 2, ofReference: true}
	watchTenth   = row{name: "watch of these until all have come", format: milliseconds, target: 1, ofReference: true}
	eventsBeside = row{name: "events to 100 watchers beside 20,000 pods", format: perSecond, higher: true, target: 2, ofReference: true}
	deletePods   = row{name: "deletecollection of 20,000 pods", format: perSecond, higher: true, target: 1.5, ofReference: true}

	firstDiscovery  = row{name: "first discovery", format: milliseconds, target: firstTarget}
	firstCreate     = row{name: "first create of a ConfigMap", format: milliseconds, target: firstTarget}
	firstPod        = row{name: "first create of a pod", format: milliseconds, target: firstTarget}
	firstApply      = row{name: "first server-side apply", format: milliseconds, target: firstTarget}
	firstWatch      = row{name: "first watch of a kind", format: milliseconds, target: firstTarget}
	firstTable      = row{name: "first list of a kind, as kubectl get makes it", format: milliseconds, target: firstTarget}
	firstValidated  = row{name: "first validating webhook, from its configuration to its call", format: milliseconds, target: firstTarget}
	firstMutated    = row{name: "first mutating webhook, from its configuration to its call", format: milliseconds, target: firstTarget}
	firstDefinition = row{name: "first definition of 14 kB", format: milliseconds, target: firstTarget}
	firstObject     = row{name: "first object of the definition", format: milliseconds, target: firstTarget}
	firstOpenAPI3   = row{name: "first OpenAPI document of a group, version 3", format: milliseconds, target: firstTarget}
	firstOpenAPI2   = row{name: "first OpenAPI document of version 2", format: milliseconds, target: firstTarget}

	workloadSmall = row{name: "Deployment of 3 until available, with workloads on 50 nodes", format: milliseconds, target: 60}
	workloadLarge = row{name: "the same, of 1,000", format: milliseconds, target: 3000}

	tracedCreate = row{name: "processor time of a create with --trace-requests, without = 1", format: times, target: 1.1}
	tracedHooks  = row{name: "the same, 3 mutating and 3 validating webhooks", format: times, target: 1.1}

	rows = []*row{
		&fixtureFirst, &fixtureLater, &fixtureStop, &fixtureReset, &fixtureRestore,
		&firstStart, &laterStart, &stopTime, &heap, &goroutines, &reset, &restore,
		&definitionsFirst, &definitionsLater, &requestedFirst, &requestedLater, &definitionMore, &objectsFirst,
		&objectsLater, &objectsRequested, &execReady, &residentIdle, &extensionFirst, &extensionCall,
		&newTime, &newProcessor, &offlineTime, &offlineProcessor, &packagesTime, &packagesMemory,
		&editTime, &editProcessor, &editFake, &editMemory,
		&createTime, &createJSON, &createRate, &createPod, &getPod, &getCached, &patchPod, &patchStatus, &applyPod,
		&validated, &validated3, &mutated, &mutated3, &admitted, &admittedRate, &deleteRate, &deleteHook, &eventRate, &eventRate300,
		&listFirst, &listAll, &listCached, &listJSON, &listPages, &listTenth, &watchTenth, &eventsBeside, &deletePods,
		&firstDiscovery, &firstCreate, &firstPod, &firstApply, &firstWatch, &firstTable, &firstValidated, &firstMutated,
		&firstDefinition, &firstObject, &firstOpenAPI3, &firstOpenAPI2,
		&workloadSmall, &workloadLarge, &tracedCreate, &tracedHooks,
	}
)

// table has the figures of miniapi, and the figures of kube-apiserver for comparison.
type table struct{ miniapi, reference column }

// column has the figures of miniapi or of kube-apiserver. For some rows, it also has the processor time that the server
// uses for one request or event, in milliseconds.
type column struct{ figures, processor map[*row]float64 }

func newColumn() column { return column{map[*row]float64{}, map[*row]float64{}} }

func newTable() *table { return &table{newColumn(), newColumn()} }

// set adds a figure to the column, and prints it on standard error at once.
func (c column) set(r *row, v float64) {
	c.figures[r] = v
	fmt.Fprintf(os.Stderr, "%s: %s\n", r.name, r.format(v))
}

// setProcessor adds the processor time of one request or event.
func (c column) setProcessor(r *row, milliseconds float64) { c.processor[r] = milliseconds }

func (t *table) print(w io.Writer) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer func() { _ = out.Flush() }() // if standard output can't be written, there is no place to report it
	compared := len(t.reference.figures) > 0
	header := "\nwhat\tminiapi\ttarget"
	if compared {
		header += "\treference\ttimes as good"
	}
	if len(t.miniapi.processor) > 0 {
		header += "\tprocessor time"
		if compared {
			header += "\treference\ttimes as good"
		}
	}
	fmt.Fprintln(out, header)
	for _, r := range rows {
		ours, measured := t.miniapi.figures[r]
		if !measured {
			continue
		}
		target := r.format(r.target)
		if r.ofReference {
			target = fmt.Sprintf("%.1f times", r.target)
		}
		cells := []string{r.name, r.format(ours), target}
		if theirs, ok := t.reference.figures[r]; ok {
			ratio := theirs / ours
			if r.higher {
				ratio = ours / theirs
			}
			cells = append(cells, r.format(theirs), fmt.Sprintf("%.1f", ratio))
		} else if compared {
			cells = append(cells, "", "")
		}
		if ours, ok := t.miniapi.processor[r]; ok {
			cells = append(cells, milliseconds(ours))
			if theirs, ok := t.reference.processor[r]; ok {
				cells = append(cells, milliseconds(theirs), fmt.Sprintf("%.1f", theirs/ours))
			}
		}
		fmt.Fprintln(out, strings.Join(cells, "\t"))
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
