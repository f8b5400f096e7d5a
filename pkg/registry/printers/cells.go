package printers

import (
	"slices"
)

// Distinct sorts texts and leaves out empty and repeated ones.
func Distinct(texts []string) []string {
	texts = slices.DeleteFunc(texts, func(s string) bool { return s == "" })
	slices.Sort(texts)
	return slices.Compact(texts)
}
