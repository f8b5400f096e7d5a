package integration_test

import (
	"testing"

	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	// What the servers of many tests log at the same time tells nothing about any of them.
	klog.SetLogger(klog.Logger{})
	m.Run()
}
