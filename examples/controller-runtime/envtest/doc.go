// Package envtest has only tests.
package envtest
