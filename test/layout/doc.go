// Package layout has only tests.
package layout
