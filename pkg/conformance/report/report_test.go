package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/report"
)

var run = &report.Run{
	Suite: "API server https://example.com", Took: 1500 * time.Millisecond, Coverage: covered("3 writers"),
	Results: conformance.Results{
		{ID: "a.passed", Promise: "One | two.", Source: "A document", Status: conformance.Passed},
		{ID: "a.failed", Promise: "It works.", Source: "A document", Status: conformance.Failed, Findings: []conformance.Finding{
			{Level: conformance.LevelError, Sent: "GET /path", Expected: "<200>", Seen: "500\nbroken"},
		}},
		{ID: "b.skipped", Promise: "It is there.", Source: "A document", Status: conformance.Skipped, Reason: "it isn't served"},
	},
}

// covered is a coverage.
type covered string

func (c covered) String() string { return string(c) }

// Each format has the parts of a finding that a person needs to find and repair the fault.
func TestFormats(t *testing.T) {
	t.Parallel()
	for _, format := range report.Formats() {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			out := &bytes.Buffer{}
			if err := report.Write(out, format, run); err != nil {
				t.Fatal(err)
			}
			text := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#39;", "'", "&#xA;", "\n").Replace(out.String())
			for _, want := range []string{run.Suite, "3 writers", "a.failed", "It works.", "GET /path", "<200>", "broken", "b.skipped", "it isn't served"} {
				if !strings.Contains(text, want) {
					t.Errorf("want %q in:\n%s", want, text)
				}
			}
		})
	}
}

func TestUnknownFormat(t *testing.T) {
	t.Parallel()
	if err := report.Write(&bytes.Buffer{}, "yaml", run); err == nil || !strings.Contains(err.Error(), `"yaml"`) {
		t.Errorf("want an error that names the format, got %v", err)
	}
}

// A JSON report can be decoded into the results, with their findings.
func TestJSON(t *testing.T) {
	t.Parallel()
	out := &bytes.Buffer{}
	if err := report.Write(out, "json", run); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Failed  int
		Results conformance.Results
	}
	if err := json.Unmarshal(out.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	if read.Failed != 1 || len(read.Results) != 3 || read.Results[1].Findings[0] != run.Results[1].Findings[0] {
		t.Errorf("got %+v", read)
	}
}

// The counts in a JUnit report equal the numbers of its elements.
func TestJUnit(t *testing.T) {
	t.Parallel()
	out := &bytes.Buffer{}
	if err := report.Write(out, "junit", run); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Class   string    `xml:"classname,attr"`
			Failure *struct{} `xml:"failure"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(out.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	if read.Tests != 3 || read.Failures != 1 || read.Skipped != 1 || len(read.Cases) != 3 {
		t.Fatalf("got %+v", read)
	}
	if read.Cases[0].Failure != nil || read.Cases[1].Failure == nil || read.Cases[2].Skipped == nil || read.Cases[1].Class != "a" {
		t.Errorf("got %+v", read.Cases)
	}
}

// A vertical bar in a text doesn't end the cell of a Markdown table.
func TestPromises(t *testing.T) {
	t.Parallel()
	out := &bytes.Buffer{}
	if err := report.Promises(out, []conformance.Case{{ID: "a", Promise: "One | two.", Source: "A document"}}); err != nil {
		t.Fatal(err)
	}
	if want := "| `a` | One \\| two. | A document |\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("want %q at the end of:\n%s", want, out)
	}
}
