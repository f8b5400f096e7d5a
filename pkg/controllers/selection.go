package controllers

import (
	"fmt"
	"slices"
	"strings"
)

// All selects all controllers.
const All = "*"

// Names returns the names of all controllers.
func Names() []string {
	var names []string
	for _, c := range table {
		names = append(names, c.name)
	}
	return names
}

// Selection is the value of the flag --controllers. kube-controller-manager has the same flag. "*" selects all
// controllers, "name" selects one, and "-name" excludes one. If a controller is both named and excluded, the first of
// these entries counts. A controller can also be named by its aliases: its service account, and its name in older
// versions.
type Selection []string

// Validate returns an error for each name that doesn't belong to a controller.
func (s Selection) Validate() []error {
	var errs []error
	for _, name := range s {
		if name == All || slices.ContainsFunc(table, func(c controller) bool { return c.is(strings.TrimPrefix(name, "-")) }) {
			continue
		}
		errs = append(errs, fmt.Errorf("--controllers: controller %q is unknown: must be one of %s, or * for all", name, strings.Join(Names(), ", ")))
	}
	return errs
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
	return slices.Contains(s, All)
}
