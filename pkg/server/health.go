package server

import (
	"errors"
	"net/http"
	"slices"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/klog/v2"
)

// checkLog puts a health check of our own in the place of the library's "log", which
// starts a goroutine that outlives every server.
func checkLog(config *genericapiserver.Config) {
	own := healthz.NamedCheck(healthz.LogHealthz.Name(), logFlushes)
	for _, checks := range []*[]healthz.HealthChecker{&config.HealthzChecks, &config.LivezChecks, &config.ReadyzChecks} {
		*checks = slices.Clone(*checks)
		if i := slices.Index(*checks, healthz.LogHealthz); i >= 0 {
			(*checks)[i] = own
		}
	}
}

// logFlushes fails when nobody can log any more.
func logFlushes(r *http.Request) error {
	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		klog.Flush()
	}()
	select {
	case <-flushed:
		return nil
	case <-r.Context().Done():
		return errors.New("logging blocked")
	}
}
