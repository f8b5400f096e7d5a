// Package suite has only tests.
package suite
