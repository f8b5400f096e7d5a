package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
)

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
	Output   string      `xml:"system-out,omitempty"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes only the basic elements of JUnit's format, because continuous integration systems differ in the
// others.
func writeJUnit(to io.Writer, run *Run) error {
	suite := junitSuite{
		Name: run.Suite, Tests: len(run.Results), Failures: run.Results.Count(conformance.Failed),
		Skipped: run.Results.Count(conformance.Skipped), Time: fmt.Sprintf("%.3f", run.Took.Seconds()),
	}
	if run.Coverage != nil {
		suite.Output = run.Coverage.String()
	}
	for i := range run.Results {
		suite.Cases = append(suite.Cases, junitOf(&run.Results[i]))
	}
	if _, err := io.WriteString(to, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(to)
	encoder.Indent("", "  ")
	if err := encoder.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(to, "\n")
	return err
}

func junitOf(r *conformance.Result) junitCase {
	c := junitCase{Class: r.ID, Name: r.ID, Time: fmt.Sprintf("%.3f", r.Took.Seconds())}
	if dot := strings.LastIndex(r.ID, "."); dot > 0 {
		c.Class = r.ID[:dot]
	}
	found := &strings.Builder{}
	if len(r.Findings) > 0 {
		textOf(found, r)
	}
	switch r.Status {
	case conformance.Failed:
		c.Failure = &junitMessage{Message: r.Promise, Text: found.String()}
	case conformance.Skipped:
		c.Skipped = &junitMessage{Message: r.Reason}
	default:
		c.Output = found.String()
	}
	return c
}
