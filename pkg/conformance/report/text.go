package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
)

// writeText writes the skipped cases with their reasons, then the cases with findings, then the
// coverage, and then the counts. Cases that
// passed without a finding are only counted.
func writeText(to io.Writer, run *Run) error {
	out := &bytes.Buffer{}
	fmt.Fprintln(out, run.Suite)
	for i := range run.Results {
		if r := &run.Results[i]; r.Status == conformance.Skipped {
			fmt.Fprintf(out, "\nskipped %s\n  %s\n", r.ID, r.Reason)
		}
	}
	for i := range run.Results {
		if r := &run.Results[i]; len(r.Findings) > 0 {
			textOf(out, r)
		}
	}
	if run.Coverage != nil {
		fmt.Fprintf(out, "\n%s", run.Coverage)
	}
	fmt.Fprintf(out, "\n%s\n", run.Summary())
	_, err := to.Write(out.Bytes())
	return err
}

func textOf(out io.Writer, r *conformance.Result) {
	fmt.Fprintf(out, "\n%s %s\n  %s\n  (%s)\n", r.Status, r.ID, r.Promise, r.Source)
	for _, f := range r.Findings {
		for _, line := range lines(f) {
			fmt.Fprintf(out, "  %-9s %s\n", line[0], strings.ReplaceAll(line[1], "\n", "\n            "))
		}
	}
}

// lines returns the fields of a finding, each with its title. It leaves out empty fields, and the level LevelError.
func lines(f conformance.Finding) [][2]string {
	var all [][2]string
	for _, line := range [][2]string{
		{"level:", string(f.Level)}, {"sent:", f.Sent}, {"expected:", f.Expected}, {"seen:", f.Seen}, {"advice:", f.Advice},
	} {
		if line[1] != "" && line != [2]string{"level:", string(conformance.LevelError)} {
			all = append(all, line)
		}
	}
	return all
}
