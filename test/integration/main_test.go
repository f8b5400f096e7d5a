package integration_test

import (
	"io"
	"testing"

	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	// What the servers of many tests log at the same time tells nothing about any of them.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	m.Run()
}
