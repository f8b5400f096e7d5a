package controllers

import (
	"fmt"
	"slices"
	"strings"
)

// These names select groups of controllers.
const (
	// All selects all controllers but those of Workloads.
	All = "*"
	// Workloads selects the controllers that give workloads their pods, and what pods need. Unlike in
	// kube-controller-manager, All leaves them out: without a scheduler and a kubelet, their pods never become ready.
	Workloads = "workloads"
)

// Names returns the names of the controllers of a group.
func Names(group string) []string {
	var names []string
	for _, c := range table {
		if c.group == group {
			names = append(names, c.name)
		}
	}
	return names
}

// Selection is the value of the flag --controllers. kube-controller-manager has the same flag. "*" and "workloads"
// select groups, "name" selects one controller, and "-name" excludes one. If a controller is both named and excluded,
// the first of these entries counts. A controller can also be named by its aliases: its service account, and its name
// in older versions.
type Selection []string

// Validate returns an error for each name that doesn't belong to a controller.
func (s Selection) Validate() []error {
	var errs []error
	for _, name := range s {
		if name == All || name == Workloads || slices.ContainsFunc(table, func(c controller) bool { return c.is(strings.TrimPrefix(name, "-")) }) {
			continue
		}
		errs = append(errs, fmt.Errorf("--controllers: controller %q is unknown: must be one of %s", name, Choices()))
	}
	return errs
}

// Choices describes the names that a Selection may have.
func Choices() string {
	choices := fmt.Sprintf("%s, or %s for all of these", strings.Join(Names(All), ", "), All)
	if workloads := Names(Workloads); len(workloads) > 0 {
		choices += fmt.Sprintf(", and %s, or %s for all of these", strings.Join(workloads, ", "), Workloads)
	}
	return choices
}

// Has reports whether a controller is selected.
func (s Selection) Has(name string) bool {
	i := slices.IndexFunc(table, func(c controller) bool { return c.is(name) })
	return i >= 0 && s.selects(table[i])
}

// Any reports whether any controller is selected.
func (s Selection) Any() bool { return slices.ContainsFunc(table, s.selects) }

func (s Selection) selects(c controller) bool {
	for _, name := range s {
		if bare, excluded := strings.CutPrefix(name, "-"); c.is(bare) {
			return !excluded
		}
	}
	return slices.Contains(s, c.group)
}
