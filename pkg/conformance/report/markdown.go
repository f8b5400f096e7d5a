package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
)

// writeMarkdown writes a table of all cases, the coverage, and then a section for each case with a
// finding.
func writeMarkdown(to io.Writer, run *Run) error {
	out := &bytes.Buffer{}
	fmt.Fprintf(out, "# %s\n\n%s\n\n| case | promise | outcome |\n| --- | --- | --- |\n", run.Suite, run.Summary())
	for i := range run.Results {
		r := &run.Results[i]
		outcome := string(r.Status)
		if r.Reason != "" {
			outcome += ": " + r.Reason
		}
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", r.ID, cell(r.Promise), cell(outcome))
	}
	if run.Coverage != nil {
		fmt.Fprintf(out, "\n    %s\n", strings.ReplaceAll(strings.TrimSpace(run.Coverage.String()), "\n", "\n    "))
	}
	for i := range run.Results {
		r := &run.Results[i]
		if len(r.Findings) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n## %s\n\n%s (%s)\n", r.ID, r.Promise, r.Source)
		for _, f := range r.Findings {
			fmt.Fprintln(out)
			for _, line := range lines(f) {
				fmt.Fprintf(out, "- %s\n\n      %s\n", line[0], strings.ReplaceAll(line[1], "\n", "\n      "))
			}
		}
	}
	_, err := to.Write(out.Bytes())
	return err
}

// Promises writes a table of cases for a document. Its columns are identifier, promise and source. If the field Level of
// a case is set, there is also a column for the level.
func Promises(to io.Writer, cases []conformance.Case) error {
	leveled := slices.ContainsFunc(cases, func(c conformance.Case) bool { return c.Level != "" })
	row := func(cells ...string) string {
		if !leveled {
			cells = slices.Delete(cells, 1, 2)
		}
		return "| " + strings.Join(cells, " | ") + " |\n"
	}
	out := &bytes.Buffer{}
	fmt.Fprint(out, row("case", "level", "promise", "source"), row("---", "---", "---", "---"))
	for i := range cases {
		c := &cases[i]
		fmt.Fprint(out, row("`"+c.ID+"`", string(cmp.Or(c.Level, conformance.LevelError)), cell(c.Promise), cell(c.Source)))
	}
	_, err := to.Write(out.Bytes())
	return err
}

// cell escapes a text for a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ").Replace(text)
}
