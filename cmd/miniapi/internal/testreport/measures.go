package testreport

import (
	"fmt"
	"strings"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/coverage"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/mutation"
)

// measures writes the coverage and the mutations of a text.
func (r *Report) measures(out *strings.Builder) {
	if r.Coverage != nil {
		reached, all := coverage.Ratio(r.Coverage)
		fmt.Fprintf(out, "coverage: %.1f %% (%d of %d)\n", r.CoveragePercent(), reached, all)
	}
	if r.Uncovered {
		for _, points := range coverage.ByObject(r.Coverage) {
			r.uncovered(out, points)
		}
	}
	if !r.Mutated {
		return
	}
	file := ""
	unnoticed := mutation.Unnoticed(r.Mutations)
	for _, m := range unnoticed {
		if m.File != file {
			fmt.Fprintln(out, m.File)
			file = m.File
		}
		fmt.Fprintf(out, "  %4d  %s  %s\n", m.Line, r.coloured(red, m.String()), r.coloured(faint, m.Means))
	}
	fmt.Fprintf(out, "%d of %d mutations noticed (%.1f %%)\n", len(r.Mutations)-len(unnoticed), len(r.Mutations), r.MutationPercent())
}

// uncovered writes what no case reaches of an object.
func (r *Report) uncovered(out *strings.Builder, points []*coverage.Point) {
	reached, all := coverage.Ratio(points)
	if reached == all {
		return
	}
	fmt.Fprintf(out, "  %s  %s  %s\n", points[0].File, points[0].Object, r.coloured(faint, fmt.Sprintf("%.1f %% (%d of %d)", coverage.Percent(reached, all), reached, all)))
	for _, p := range points {
		for _, missing := range p.Missing() {
			fmt.Fprintf(out, "  %4d  %s: %s\n", p.Line, p.Title(), r.coloured(red, missing))
		}
	}
}

// mark is a remark about a line of a policy.
type mark struct {
	path        string
	line        int
	title, text string
}

// marks returns the remarks about what no case reaches and what no case notices, one for each line and kind of remark.
func (r *Report) marks() []mark {
	var all []mark
	add := func(path string, line int, title, text string) {
		if last := len(all) - 1; last >= 0 && all[last].path == path && all[last].line == line && all[last].title == title {
			all[last].text += "\n" + text
			return
		}
		all = append(all, mark{path, line, title, text})
	}
	for _, p := range r.Coverage {
		for _, missing := range p.Missing() {
			add(p.File, p.Line, "no case reaches it", p.Title()+": "+missing)
		}
	}
	for _, m := range mutation.Unnoticed(r.Mutations) {
		add(m.File, m.Line, "no case notices the change", m.String()+" ("+m.Means+")")
	}
	return all
}
