// Package withfixture has only tests.
package withfixture
