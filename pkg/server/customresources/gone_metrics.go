package customresources

import (
	"errors"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-base/metrics/legacyregistry"
)

// forgetting returns a handler that calls next, and calls forget if the definition of the requested resource has been
// deleted during the request. A watch, for example, ends with the definition, and is counted at its end.
func (s *stores) forgetting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if info, ok := request.RequestInfoFrom(req.Context()); ok {
			resource := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
			if s.isDefined(resource) {
				defer s.forget(resource)
			}
		}
		next.ServeHTTP(w, req)
	})
}

// forget removes the metrics of a resource if its definition is deleted: some 490 lines of /metrics, which take 45 kB.
// k8s.io/apiserver keeps the metrics of each resource that was ever requested.
func (s *stores) forget(resource schema.GroupResource) {
	if s.isDefined(resource) {
		return
	}
	for _, v := range resourceMetrics() {
		v.DeletePartialMatch(prometheus.Labels{"group": resource.Group, "resource": resource.Resource})
		v.DeletePartialMatch(prometheus.Labels{"resource": resource.String()})
		v.DeletePartialMatch(prometheus.Labels{"crd_name": resource.String()})
	}
}

func (s *stores) isDefined(resource schema.GroupResource) bool {
	_, err := s.lister.Get(resource.String())
	return err == nil
}

// metricVector is a metric of the process with labels.
type metricVector interface {
	DeletePartialMatch(labels prometheus.Labels) int
}

// resourceMetrics returns the metrics of the process with a label for resources. The registry lists only descriptions of
// metrics, but names the metric that is in the way of another one with the same description.
func resourceMetrics() []metricVector {
	registry := legacyregistry.Registerer()
	all, ok := registry.(prometheus.Collector)
	if !ok {
		return nil
	}
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		all.Describe(descriptions)
	}()
	var described []description
	for d := range descriptions {
		if text := d.String(); strings.Contains(text, "resource") || strings.Contains(text, "crd_name") {
			described = append(described, description{d})
		}
	}
	var vectors []metricVector
	for _, d := range described {
		err := registry.Register(d)
		if err == nil { // the metric has been unregistered meanwhile
			registry.Unregister(d)
		}
		var registered prometheus.AlreadyRegisteredError
		if !errors.As(err, &registered) {
			continue
		}
		if v, ok := registered.ExistingCollector.(metricVector); ok {
			vectors = append(vectors, v)
		}
	}
	return vectors
}

// description is a collector without metrics.
type description struct{ desc *prometheus.Desc }

// Describe implements prometheus.Collector.
func (d description) Describe(all chan<- *prometheus.Desc) { all <- d.desc }

// Collect implements prometheus.Collector.
func (description) Collect(chan<- prometheus.Metric) {}
