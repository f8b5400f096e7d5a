// Package testreport writes the results of admission tests: as text for people, as JUnit XML and as commands of GitHub
// workflows for continuous integration, or as JSON. [Write] is the way in.
//
// Don't parse the text, because its wording may change: JSON has every field of the results.
package testreport

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/coverage"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/mutation"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/runner"
)

// Report has the results of a run.
type Report struct {
	Results []*runner.Result
	Took    time.Duration
	// Verbose shows each case of a text, and the timeline of each failed one. Colour marks the outcomes of a text.
	Verbose, Colour bool
	// Coverage has what the cases can reach, or nil if it isn't measured. Uncovered shows what they don't reach.
	Coverage  []*coverage.Point
	Uncovered bool
	// Mutations are the changes of policies, if Mutated is true.
	Mutations []*mutation.Mutation
	Mutated   bool
}

// CoveragePercent returns how much the cases reach, in percent.
func (r *Report) CoveragePercent() float64 { return coverage.Percent(coverage.Ratio(r.Coverage)) }

// MutationPercent returns how many mutations cases have noticed, in percent.
func (r *Report) MutationPercent() float64 {
	return coverage.Percent(len(r.Mutations)-len(mutation.Unnoticed(r.Mutations)), len(r.Mutations))
}

// The formats of reports.
const (
	Text   = "text"
	JSON   = "json"
	JUnit  = "junit"
	GitHub = "github"
)

var formats = map[string]func(io.Writer, *Report) error{Text: writeText, JSON: writeJSON, JUnit: writeJUnit, GitHub: writeGitHub}

// Formats returns the names of the formats.
func Formats() []string { return []string{Text, JSON, JUnit, GitHub} }

// Write writes a report in a format.
func Write(to io.Writer, format string, report *Report) error {
	write, known := formats[format]
	if !known {
		return fmt.Errorf("format %q: must be one of %s", format, strings.Join(Formats(), ", "))
	}
	return write(to, report)
}

// Failed returns the number of cases that didn't pass, and Broken the number of those that couldn't be run.
func (r *Report) Failed() int { return r.count(func(c *runner.Result) bool { return !c.Passed() }) }

// Broken returns the number of cases that couldn't be run.
func (r *Report) Broken() int { return r.count(func(c *runner.Result) bool { return c.Err != nil }) }

func (r *Report) count(counts func(*runner.Result) bool) int {
	n := 0
	for _, result := range r.Results {
		if counts(result) {
			n++
		}
	}
	return n
}

// tests returns the results of each test, in their order.
func (r *Report) tests() [][]*runner.Result {
	var tests [][]*runner.Result
	for _, result := range r.Results {
		last := len(tests) - 1
		if last < 0 || tests[last][0].Path != result.Path || tests[last][0].File != result.File {
			tests = append(tests, nil)
			last++
		}
		tests[last] = append(tests[last], result)
	}
	return tests
}

// measure is what JSON has of the coverage or of the mutations.
type measure struct {
	Percent   float64              `json:"percent"`
	Points    []*coverage.Point    `json:"points,omitempty"`
	Mutations []*mutation.Mutation `json:"all,omitempty"`
}

func writeJSON(to io.Writer, report *Report) error {
	type result struct {
		*runner.Result
		Passed bool   `json:"passed"`
		Took   string `json:"took"`
		Error  string `json:"error,omitempty"`
	}
	list := struct {
		Cases     int      `json:"cases"`
		Failed    int      `json:"failed"`
		Took      string   `json:"took"`
		Results   []result `json:"results"`
		Coverage  *measure `json:"coverage,omitempty"`
		Mutations *measure `json:"mutations,omitempty"`
	}{Cases: len(report.Results), Failed: report.Failed(), Took: report.Took.String(), Results: []result{}}
	if report.Coverage != nil {
		list.Coverage = &measure{Percent: report.CoveragePercent(), Points: report.Coverage}
	}
	if report.Mutated {
		list.Mutations = &measure{Percent: report.MutationPercent(), Mutations: report.Mutations}
	}
	for _, r := range report.Results {
		one := result{Result: r, Passed: r.Passed(), Took: r.Took.String()}
		if r.Err != nil {
			one.Error = r.Err.Error()
		}
		list.Results = append(list.Results, one)
	}
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(list)
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string `xml:"name,attr"`
	File     string `xml:"file,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Time     string `xml:"time,attr"`
	// Properties and Out are the coverage and the mutations, which are in a suite without cases.
	Properties *junitProperties `xml:"properties,omitempty"`
	Cases      []junitCase      `xml:"testcase"`
	Out        string           `xml:"system-out,omitempty"`
}

type junitProperties struct {
	All []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Error   *junitMessage `xml:"error,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func writeJUnit(to io.Writer, report *Report) error {
	suites := junitSuites{Tests: len(report.Results), Failures: report.Failed() - report.Broken(), Errors: report.Broken(), Time: seconds(report.Took)}
	for _, results := range report.tests() {
		part := &Report{Results: results}
		suite := junitSuite{Name: results[0].File, File: results[0].Path, Tests: len(results), Failures: part.Failed() - part.Broken(), Errors: part.Broken()}
		var took time.Duration
		for _, r := range results {
			took += r.Took
			c := junitCase{Class: r.File, Name: r.Name, Time: seconds(r.Took)}
			if !r.Passed() {
				lines := r.Lines()
				message := &junitMessage{Message: summary(r), Text: strings.Join(append(lines, "", r.Timeline), "\n")}
				if r.Err != nil {
					c.Error = message
				} else {
					c.Failure = message
				}
			}
			suite.Cases = append(suite.Cases, c)
		}
		suite.Time = seconds(took)
		suites.Suites = append(suites.Suites, suite)
	}
	if measured := report.measured(); measured != nil {
		suites.Suites = append(suites.Suites, *measured)
	}
	if _, err := io.WriteString(to, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(to)
	encoder.Indent("", "  ")
	if err := encoder.Encode(suites); err != nil {
		return err
	}
	_, err := io.WriteString(to, "\n")
	return err
}

// measured returns the suite with the coverage and the mutations, or nil if neither is measured.
func (r *Report) measured() *junitSuite {
	properties := &junitProperties{}
	if r.Coverage != nil {
		properties.All = append(properties.All, junitProperty{"coverage", fmt.Sprintf("%.1f", r.CoveragePercent())})
	}
	if r.Mutated {
		properties.All = append(properties.All, junitProperty{"mutations", fmt.Sprintf("%.1f", r.MutationPercent())})
	}
	if len(properties.All) == 0 {
		return nil
	}
	var out strings.Builder
	for _, m := range r.marks() {
		fmt.Fprintf(&out, "%s:%d: %s: %s\n", m.path, m.line, m.title, m.text)
	}
	return &junitSuite{Name: "policies", Time: seconds(0), Properties: properties, Out: out.String()}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// summary returns the first difference on one line.
func summary(r *runner.Result) string {
	if r.Err != nil {
		return r.Err.Error()
	}
	f := r.Findings[0]
	if len(f.Diff) > 0 {
		return f.Field + ": " + f.Diff[0]
	}
	return fmt.Sprintf("%s: want %s, got %s", f.Field, f.Want, f.Got)
}

var (
	properties = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	data       = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
)

// Property returns a text as a property of a command of a GitHub workflow, and Data as the text of the command.
func Property(text string) string { return properties.Replace(text) }

// Data returns a text as the text of a command of a GitHub workflow.
func Data(text string) string { return data.Replace(text) }

// writeGitHub writes the commands by which a workflow marks the lines of failed cases.
func writeGitHub(to io.Writer, report *Report) error {
	for _, r := range report.Results {
		if r.Passed() {
			continue
		}
		_, err := fmt.Fprintf(to, "::error file=%s,line=%d,title=%s::%s\n", Property(r.Path), r.Line, Property(r.Name), Data(strings.Join(r.Lines(), "\n")))
		if err != nil {
			return err
		}
	}
	for _, m := range report.marks() {
		if _, err := fmt.Fprintf(to, "::warning file=%s,line=%d,title=%s::%s\n", Property(m.path), m.line, Property(m.title), Data(m.text)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(to, report.summary())
	return err
}

func (r *Report) summary() string {
	return fmt.Sprintf("%s, %d failed, in %s", number(r.Results), r.Failed(), r.Took.Round(time.Millisecond))
}

// number returns the number of cases in words.
func number(cases []*runner.Result) string {
	if len(cases) == 1 {
		return "1 case"
	}
	return fmt.Sprintf("%d cases", len(cases))
}

// The sequences that change the colour of a terminal.
const (
	red   = "\x1b[31m"
	green = "\x1b[32m"
	faint = "\x1b[2m"
	reset = "\x1b[0m"
)

func (r *Report) coloured(colour, text string) string {
	if !r.Colour {
		return text
	}
	return colour + text + reset
}

func writeText(to io.Writer, report *Report) error {
	var out strings.Builder
	for _, results := range report.tests() {
		report.test(&out, results)
	}
	report.measures(&out)
	fmt.Fprintln(&out, report.summary())
	_, err := io.WriteString(to, out.String())
	return err
}

// test writes a line for a test, and the cases that failed. With Verbose, it writes every case.
func (r *Report) test(out *strings.Builder, results []*runner.Result) {
	failed := slices.ContainsFunc(results, func(c *runner.Result) bool { return !c.Passed() })
	var took time.Duration
	for _, result := range results {
		took += result.Took
	}
	fmt.Fprintf(out, "%s  %s  %s\n", r.outcome(!failed), results[0].File, r.coloured(faint, fmt.Sprintf("%s, %s", number(results), took.Round(time.Millisecond))))
	for _, result := range results {
		if result.Passed() && !r.Verbose {
			continue
		}
		fmt.Fprintf(out, "  %s  %s  %s\n", r.outcome(result.Passed()), result.Name, r.coloured(faint, fmt.Sprintf("%s:%d", result.Path, result.Line)))
		for _, line := range result.Lines() {
			fmt.Fprintln(out, "        "+r.marked(line))
		}
		if r.Verbose && result.Timeline != "" {
			for _, line := range strings.Split(strings.TrimSpace(result.Timeline), "\n") {
				fmt.Fprintln(out, "        "+r.coloured(faint, line))
			}
		}
	}
}

func (r *Report) outcome(passed bool) string {
	if passed {
		return r.coloured(green, "ok  ")
	}
	return r.coloured(red, "FAIL")
}

// marked colours the line of a difference.
func (r *Report) marked(line string) string {
	switch trimmed := strings.TrimSpace(line); {
	case strings.HasPrefix(trimmed, "- "):
		return r.coloured(red, line)
	case strings.HasPrefix(trimmed, "+ "):
		return r.coloured(green, line)
	}
	return line
}
