package apiserver_test

import (
	_ "embed"
	"path"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

//go:embed testdata/sentences.yaml
var sentencesYAML []byte

// document is a document of Kubernetes whose sentences the cases check.
type document struct {
	Document string
	Sections []struct {
		Section   string
		Sentences []sentence
	}
}

// sentence is a sentence of a document about the behaviour of a server.
type sentence struct {
	Says string
	// Cases are globs of identifiers of cases. If no case checks the sentence, None is the reason.
	Cases []string
	None  string
}

// Each sentence of the documents about admission has a case, or a reason why it has none. Each case whose source is one
// of these documents belongs to a sentence.
func TestSentences(t *testing.T) {
	t.Parallel()
	var documents []document
	if err := yaml.UnmarshalStrict(sentencesYAML, &documents); err != nil {
		t.Fatal(err)
	}
	cases := append(apiserver.Tests(), trial.Test{ID: apiserver.EveryPattern})
	sources, named := map[string]bool{}, map[string]bool{}
	for _, d := range documents {
		sources[d.Document] = true
		for _, s := range d.Sections {
			sources[d.Document+", "+s.Section] = true
			for _, sentence := range s.Sentences {
				sentence.check(t, d.Document+", "+s.Section, cases, named)
			}
		}
	}
	for _, c := range cases {
		document, _, _ := strings.Cut(c.Source, ", ")
		if !sources[document] {
			continue
		}
		if !sources[c.Source] {
			t.Errorf("case %s: its source %q is no section of testdata/sentences.yaml", c.ID, c.Source)
		}
		if !named[c.ID] {
			t.Errorf("case %s: no sentence of testdata/sentences.yaml names it", c.ID)
		}
	}
}

// check adds the identifiers of a sentence's cases to named. It reports a glob that matches no case. It also reports a
// sentence with both cases and a reason, or with neither of them.
func (s *sentence) check(t *testing.T, section string, cases []trial.Test, named map[string]bool) {
	t.Helper()
	if (len(s.Cases) == 0) == (s.None == "") || s.Says == "" {
		t.Errorf("%s: %q: want cases or a reason why there are none", section, s.Says)
	}
	for _, glob := range s.Cases {
		found := false
		for i := range cases {
			matched, err := path.Match(glob, cases[i].ID)
			if err != nil {
				t.Errorf("%s: %q: glob %q: %v", section, s.Says, glob, err)
			}
			if matched {
				found, named[cases[i].ID] = true, true
			}
		}
		if !found {
			t.Errorf("%s: %q: no case has the identifier %q", section, s.Says, glob)
		}
	}
}
