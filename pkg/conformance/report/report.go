// Package report writes the results of a run as text for people, as JUnit XML for continuous integration, as JSON, or
// as Markdown for documents.
//
// Don't parse the text or the Markdown, because their wording may change: JSON has every field of the results.
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

// Run has the results of a run, and facts about it.
type Run struct {
	// Suite names the suite and the target, such as "API server https://127.0.0.1:6443, Kubernetes 1.37".
	Suite   string
	Results conformance.Results
	Took    time.Duration
	// Coverage tells what the cases are about, if the results don't say it. It is nil, or a value that can be encoded in
	// JSON.
	Coverage fmt.Stringer
}

// formats has the functions that write reports, by the name of the format.
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

// Summary returns a line with the numbers of passed, failed and skipped cases.
func (r *Run) Summary() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped, in %v", r.Results.Count(conformance.Passed),
		r.Results.Count(conformance.Failed), r.Results.Count(conformance.Skipped), r.Took.Round(100*time.Millisecond))
}

func writeJSON(to io.Writer, run *Run) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(struct {
		Suite    string              `json:"suite"`
		Passed   int                 `json:"passed"`
		Failed   int                 `json:"failed"`
		Skipped  int                 `json:"skipped"`
		Took     time.Duration       `json:"tookNanoseconds"`
		Coverage fmt.Stringer        `json:"coverage,omitempty"`
		Results  conformance.Results `json:"results"`
	}{
		run.Suite, run.Results.Count(conformance.Passed), run.Results.Count(conformance.Failed),
		run.Results.Count(conformance.Skipped), run.Took, run.Coverage, run.Results,
	})
}
