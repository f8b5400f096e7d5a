package consistency

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
)

// eachList calls check with the answered lists for which selects is true, by the time of their calls. check returns the
// right result and the seen one, or "" if the list is right. eachList returns the number of lists.
func (a *analysis) eachList(selects func(*List) bool, check func(*List) (expected, seen string)) (int, []conformance.Finding) {
	var lists []*List
	for i := range a.history.Lists {
		if l := &a.history.Lists[i]; l.Outcome == OK && selects(l) {
			lists = append(lists, l)
		}
	}
	slices.SortFunc(lists, func(a, b *List) int { return cmp.Compare(a.Call, b.Call) })
	var findings []conformance.Finding
	for _, l := range lists {
		if expected, seen := check(l); seen != "" {
			findings = append(findings, conformance.Finding{Sent: l.String(), Expected: expected, Seen: seen})
		}
	}
	return len(lists), findings
}

func snapshots(_ context.Context, a *analysis) (int, []conformance.Finding) {
	return a.eachList(
		func(l *List) bool { return len(slices.Compact(slices.Clone(l.Revisions))) == 1 },
		func(l *List) (string, string) {
			objects, known := a.timelines[l.Resource].at(l.revision())
			if !known {
				return "", ""
			}
			seen := difference(objects, l.Items)
			return fmt.Sprintf("the objects at resourceVersion %d", l.revision()), seen
		})
}

// difference describes how items differ from the objects at a resource version, or returns "".
func difference(expected map[string]Version, items []Item) string {
	var seen []string
	has := map[string]bool{}
	for _, item := range items {
		want, exists := expected[item.Name]
		switch {
		case has[item.Name]:
			seen = append(seen, fmt.Sprintf("%s is there twice", item.Name))
		case !exists:
			seen = append(seen, fmt.Sprintf("%s, which doesn't exist, is there at %s", item.Name, item.Version))
		case want != item.Version:
			seen = append(seen, fmt.Sprintf("%s is there at %s, and not at %s", item.Name, item.Version, want))
		}
		has[item.Name] = true
	}
	for name, want := range expected {
		if !has[name] {
			seen = append(seen, fmt.Sprintf("%s is missing, at %s", name, want))
		}
	}
	slices.Sort(seen)
	return strings.Join(seen, "\n")
}

func recentLists(_ context.Context, a *analysis) (int, []conformance.Finding) {
	checked, findings := 0, []conformance.Finding(nil)
	for resource := range a.timelines {
		before := newest(a.answered(resource))
		n, found := a.eachList(
			func(l *List) bool { return l.Resource == resource && (l.Mode == Recent || l.Mode == Paged) },
			func(l *List) (string, string) {
				if o := before(l.Call); o != nil && l.revision() < o.Returned.Revision {
					return "not older than the answered " + o.String(), fmt.Sprintf("resourceVersion %d", l.revision())
				}
				return "", ""
			})
		checked, findings = checked+n, append(findings, found...)
	}
	return checked, findings
}

func pagedLists(_ context.Context, a *analysis) (int, []conformance.Finding) {
	return a.eachList(
		func(l *List) bool { return len(l.Revisions) > 1 },
		func(l *List) (string, string) {
			if len(slices.Compact(slices.Clone(l.Revisions))) > 1 {
				return "one resourceVersion", fmt.Sprint(l.Revisions)
			}
			return "", ""
		})
}

func askedLists(_ context.Context, a *analysis) (int, []conformance.Finding) {
	return a.eachList(
		func(l *List) bool { return l.Mode == Exact || l.Mode == NotOlder },
		func(l *List) (string, string) {
			if l.revision() < l.Asked || l.Mode == Exact && l.revision() != l.Asked {
				return fmt.Sprintf("%s %d", l.Mode, l.Asked), fmt.Sprintf("resourceVersion %d", l.revision())
			}
			return "", ""
		})
}
