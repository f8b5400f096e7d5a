// Package withenvtest has only tests.
package withenvtest
