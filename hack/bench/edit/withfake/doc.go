// Package withfake has only tests.
package withfake
