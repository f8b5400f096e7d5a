//go:build !linux

package main

// dropProgramPages does nothing: how to is known of Linux alone.
func dropProgramPages() {}
