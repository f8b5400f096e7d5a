// Package report writes the results of a run: as text for a person, as JUnit for continuous integration, as JSON, and as
// Markdown for a document.
//
// Don't parse the text or the Markdown: their words may change. JSON has every field of a result.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
)

// Run is a run and its results.
type Run struct {
	// Suite names what was judged by which suite, such as "API server https://127.0.0.1:6443, Kubernetes 1.37".
	Suite   string
	Results conformance.Results
	Took    time.Duration
}

// formats are the writers of reports, by name.
var formats = map[string]func(io.Writer, *Run) error{
	"json":     writeJSON,
	"junit":    writeJUnit,
	"markdown": writeMarkdown,
	"text":     writeText,
}

// Formats returns the names of formats, sorted.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// Write writes a report in a format.
func Write(to io.Writer, format string, run *Run) error {
	write, known := formats[format]
	if !known {
		return fmt.Errorf("format of a report %q: must be one of %v", format, Formats())
	}
	return write(to, run)
}

// Summary is a line with the counts of a run.
func (r *Run) Summary() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped, in %v", r.Results.Count(conformance.Passed),
		r.Results.Count(conformance.Failed), r.Results.Count(conformance.Skipped), r.Took.Round(100*time.Millisecond))
}

func writeJSON(to io.Writer, run *Run) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(struct {
		Suite   string              `json:"suite"`
		Passed  int                 `json:"passed"`
		Failed  int                 `json:"failed"`
		Skipped int                 `json:"skipped"`
		Took    time.Duration       `json:"tookNanoseconds"`
		Results conformance.Results `json:"results"`
	}{
		run.Suite, run.Results.Count(conformance.Passed), run.Results.Count(conformance.Failed),
		run.Results.Count(conformance.Skipped), run.Took, run.Results,
	})
}
