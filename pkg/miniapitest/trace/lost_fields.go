package trace

import (
	"fmt"
	"slices"
	"strings"
)

// Lost names fields that a webhook or a policy set, and that the server didn't store.
type Lost struct {
	// Fields are the paths of the fields, such as spec.flavour.
	Fields []string `json:"fields"`
	// Because says why the server didn't store the fields, such as "Widget in v1 has no such field".
	Because string `json:"because"`
}

// String returns the fields with the reason.
func (l *Lost) String() string {
	return fmt.Sprintf("not stored, because %s: %s", l.Because, strings.Join(l.Fields, ", "))
}

// words returns the end of a sentence about the call of a webhook. It returns "" for no lost fields.
func (l *Lost) words() string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf(", but the server didn't store %s, because %s", strings.Join(l.Fields, ", "), l.Because)
}

// StoredChanges returns the differences between the admitted and the stored object. The resource version is no
// difference, because each object gets one when it is stored.
func (a *Admission) StoredChanges() []Change {
	if len(a.Stored) == 0 || len(a.Admitted) == 0 {
		return nil
	}
	return slices.DeleteFunc(Diff(a.Admitted, a.Stored), func(c Change) bool { return c.Path == "metadata.resourceVersion" })
}
