// Package filelock locks files between processes. A lock ends with its process, even if the process is killed. Don't
// use the package for locks between goroutines: package sync has those.
package filelock
