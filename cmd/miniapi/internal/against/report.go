package against

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/output"
	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/testreport"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

// The effects of a policy, a webhook or a definition on an object.
const (
	Refuses = "refuses"
	Changes = "changes"
	Warns   = "warns about"
	Audits  = "annotates the audit event of"
	// Ignores is the effect of a failure that the failurePolicy Ignore allows.
	Ignores = "fails and ignores"
)

// effects is the order of the effects in reports.
var effects = []string{Refuses, Changes, Warns, Audits, Ignores}

// Report says what the judged policies, webhooks and definitions do with existing objects.
type Report struct {
	Objects int           `json:"objects"`
	Took    time.Duration `json:"took"`
	// Judged are the policies, the webhooks and the definitions, in the order of their files.
	Judged []*Judged `json:"judged"`
	// Unreviewed are objects that the server refuses for another reason, with the reasons.
	Unreviewed []Affected `json:"unreviewed,omitempty"`
	// Notes are about what the report doesn't cover.
	Notes []string `json:"notes,omitempty"`
}

// Judged is a policy, a webhook configuration or a definition, with what it does.
type Judged struct {
	// Name is KIND/NAME.
	Name   string `json:"name"`
	Source string `json:"source"`
	// Evaluated is the number of objects for which a policy was evaluated, a webhook called, or a definition used.
	Evaluated int     `json:"evaluated"`
	Groups    []Group `json:"effects,omitempty"`
}

// Group are the objects of a namespace on which a binding of a policy, a webhook or a definition has the same effect.
type Group struct {
	By        string     `json:"by"`
	Effect    string     `json:"effect"`
	Namespace string     `json:"namespace,omitempty"`
	Objects   []Affected `json:"objects"`
}

// Affected is an object with the operations in which the effect occurs, and the message or the changed fields.
type Affected struct {
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace,omitempty"`
	Name       string   `json:"name"`
	Operations []string `json:"operations"`
	Message    string   `json:"message"`
}

// add adds an effect on an object. The same effect in another operation is added to the object.
func (j *Judged) add(by, effect string, object Affected) {
	at := slices.IndexFunc(j.Groups, func(g Group) bool { return g.By == by && g.Effect == effect && g.Namespace == object.Namespace })
	if at < 0 {
		at = len(j.Groups)
		j.Groups = append(j.Groups, Group{By: by, Effect: effect, Namespace: object.Namespace})
	}
	group := &j.Groups[at]
	if last := len(group.Objects) - 1; last >= 0 {
		if same := &group.Objects[last]; same.Kind == object.Kind && same.Name == object.Name && same.Message == object.Message {
			same.Operations = append(same.Operations, object.Operations...)
			slices.Sort(same.Operations)
			same.Operations = slices.Compact(same.Operations)
			return
		}
	}
	group.Objects = append(group.Objects, object)
}

// sorted returns the groups in the order of the effects and the namespaces.
func (j *Judged) sorted() []Group {
	groups := slices.Clone(j.Groups)
	slices.SortFunc(groups, func(a, b Group) int {
		if a.Effect != b.Effect {
			return slices.Index(effects, a.Effect) - slices.Index(effects, b.Effect)
		}
		return strings.Compare(a.By+"\x00"+a.Namespace, b.By+"\x00"+b.Namespace)
	})
	return groups
}

// Count returns the number of objects with an effect.
func (r *Report) Count(effect string) int {
	found := map[string]bool{}
	for _, judged := range r.Judged {
		for _, group := range judged.Groups {
			for _, object := range group.Objects {
				if group.Effect == effect {
					found[object.Kind+"\x00"+object.Namespace+"\x00"+object.Name] = true
				}
			}
		}
	}
	return len(found)
}

// Formats returns the names of the formats of reports.
func Formats() []string { return testreport.Formats() }

// Write writes the report in a format.
func (r *Report) Write(to io.Writer, format string) error {
	switch format {
	case testreport.JSON:
		value := struct {
			*Report
			Refused int    `json:"refused"`
			Changed int    `json:"changed"`
			Took    string `json:"took"`
		}{r, r.Count(Refuses), r.Count(Changes), r.Took.Round(time.Millisecond).String()}
		return (&output.Format{Name: output.JSON}).Print(to, value, nil)
	case testreport.JUnit:
		return r.junit(to)
	case testreport.GitHub:
		return r.github(to)
	}
	return r.text(to)
}

// shown is the number of names and of messages of a group in a text.
const shown = 3

// names returns the first names of a group's objects, by their kind and operations.
func (g Group) names() string {
	var all []string
	for i, object := range g.Objects {
		if i == shown {
			all = append(all, fmt.Sprintf("and %d more", len(g.Objects)-shown))
			break
		}
		name := object.Kind + " " + object.Name
		if len(object.Operations) > 0 {
			name += " (" + strings.Join(object.Operations, ", ") + ")"
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

// messages returns the first different messages of a group.
func (g Group) messages() []string {
	var all []string
	more := 0
	for _, object := range g.Objects {
		switch {
		case slices.Contains(all, object.Message) || object.Message == "":
		case len(all) == shown:
			more++
		default:
			all = append(all, object.Message)
		}
	}
	if more > 0 {
		all = append(all, fmt.Sprintf("and %d other messages", more))
	}
	return all
}

// line says what a group is.
func (g Group) line() string {
	where := ""
	if g.Namespace != "" {
		where = " in " + g.Namespace
	}
	return fmt.Sprintf("%s %s %d%s: %s", g.By, g.Effect, len(g.Objects), where, g.names())
}

func (r *Report) text(to io.Writer) error {
	var out strings.Builder
	for _, judged := range r.Judged {
		evaluated := fmt.Sprintf("%d objects", judged.Evaluated)
		if judged.Evaluated == 0 {
			evaluated = "no object matches"
		}
		fmt.Fprintf(&out, "%s  %s\n", judged.Name, evaluated)
		for _, group := range judged.sorted() {
			fmt.Fprintf(&out, "  %s\n", group.line())
			for _, message := range group.messages() {
				fmt.Fprintf(&out, "      %s\n", message)
			}
		}
	}
	if len(r.Unreviewed) > 0 {
		all := Group{Objects: r.Unreviewed}
		fmt.Fprintf(&out, "not reviewed: %d objects: %s\n", len(r.Unreviewed), all.names())
		for _, message := range all.messages() {
			fmt.Fprintf(&out, "      %s\n", message)
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintln(&out, "note:", note)
	}
	fmt.Fprintln(&out, r.summary())
	_, err := io.WriteString(to, out.String())
	return err
}

func (r *Report) summary() string {
	return fmt.Sprintf("%d objects: %d refused, %d changed, %d with warnings, in %s", r.Objects, r.Count(Refuses), r.Count(Changes), r.Count(Warns), r.Took.Round(time.Millisecond))
}

// junit writes a suite for each policy, with a case for each namespace in which the policy has an effect.
func (r *Report) junit(to io.Writer) error {
	type failure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	type testcase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Failure *failure `xml:"failure,omitempty"`
		Out     string   `xml:"system-out,omitempty"`
	}
	type suite struct {
		Name     string     `xml:"name,attr"`
		File     string     `xml:"file,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Cases    []testcase `xml:"testcase"`
	}
	suites := struct {
		XMLName xml.Name `xml:"testsuites"`
		Time    string   `xml:"time,attr"`
		Suites  []suite  `xml:"testsuite"`
	}{Time: fmt.Sprintf("%.3f", r.Took.Seconds())}
	for _, judged := range r.Judged {
		s := suite{Name: judged.Name, File: manifests.FileOf(judged.Source)}
		for _, group := range judged.sorted() {
			one := testcase{Class: group.By, Name: strings.TrimSpace(group.Effect + " " + group.Namespace)}
			text := strings.Join(append([]string{group.line()}, group.messages()...), "\n")
			if group.Effect == Refuses {
				one.Failure = &failure{Message: group.line(), Text: text}
				s.Failures++
			} else {
				one.Out = text
			}
			s.Cases = append(s.Cases, one)
		}
		if len(s.Cases) == 0 {
			s.Cases = []testcase{{Class: judged.Name, Name: "refuses and changes nothing"}}
		}
		s.Tests = len(s.Cases)
		suites.Suites = append(suites.Suites, s)
	}
	encoded, err := xml.MarshalIndent(suites, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(to, "%s%s\n", xml.Header, encoded)
	}
	return err
}

// github writes the commands by which a workflow marks the files of policies that refuse objects.
func (r *Report) github(to io.Writer) error {
	for _, judged := range r.Judged {
		for _, group := range judged.sorted() {
			level := "notice"
			if group.Effect == Refuses {
				level = "error"
			}
			text := strings.Join(append([]string{group.line()}, group.messages()...), "\n")
			if _, err := fmt.Fprintf(to, "::%s file=%s,title=%s::%s\n", level, testreport.Property(manifests.FileOf(judged.Source)), testreport.Property(judged.Name), testreport.Data(text)); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintln(to, r.summary())
	return err
}
