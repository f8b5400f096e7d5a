package customresources

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
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
			if s.isDefined(resource.String()) {
				defer s.forget(resource)
			}
		}
		next.ServeHTTP(w, req)
	})
}

// The stores collect deleted definitions for a second, and for a multiple of the last removal's time, before they remove the
// metrics of all of them. A removal looks at every metric of every resource, which takes a tenth of a second with thousands
// of definitions.
const (
	collecting         = time.Second
	collectingMultiple = 10
)

// goneMetrics has the names of deleted definitions whose resources still have metrics.
type goneMetrics struct {
	mu    sync.Mutex
	names map[string]bool
	timer *time.Timer   // set while there are names
	took  time.Duration // the time of the last removal

	removing sync.Mutex // held while metrics are removed
}

// forget removes the metrics of a resource some time later, if its definition is deleted: some 490 lines of /metrics, which
// take 45 kB. k8s.io/apiserver keeps the metrics of each resource that was ever requested.
func (s *stores) forget(resource schema.GroupResource) {
	if s.isDefined(resource.String()) {
		return
	}
	s.gone.mu.Lock()
	defer s.gone.mu.Unlock()
	if s.gone.timer == nil {
		s.gone.names, s.gone.timer = map[string]bool{}, time.AfterFunc(collecting+collectingMultiple*s.gone.took, s.removeMetrics)
	}
	s.gone.names[resource.String()] = true
}

// removeMetrics removes the metrics of the resources that forget was called with, unless a definition is there again.
func (s *stores) removeMetrics() {
	s.gone.removing.Lock()
	defer s.gone.removing.Unlock()
	s.gone.mu.Lock()
	names := s.gone.names
	if s.gone.timer != nil {
		s.gone.timer.Stop()
	}
	s.gone.names, s.gone.timer = nil, nil
	s.gone.mu.Unlock()

	maps.DeleteFunc(names, func(name string, _ bool) bool { return s.isDefined(name) })
	if len(names) == 0 {
		return
	}
	begun := time.Now()
	for _, vector := range resourceMetrics() {
		for _, labels := range labelsOf(vector) {
			resource := schema.GroupResource{Group: labels["group"], Resource: labels["resource"]}
			if names[resource.String()] || names[labels["crd_name"]] {
				vector.Delete(labels)
			}
		}
	}
	s.gone.mu.Lock()
	defer s.gone.mu.Unlock()
	s.gone.took = time.Since(begun)
}

// labelsOf returns the labels of all metrics of a vector.
func labelsOf(vector metricVector) []map[string]string {
	metrics := make(chan prometheus.Metric, 100)
	go func() {
		defer close(metrics)
		vector.Collect(metrics)
	}()
	var all []map[string]string
	for metric := range metrics {
		var written dto.Metric
		if err := metric.Write(&written); err != nil {
			continue // a metric of a vector is valid
		}
		labels := map[string]string{}
		for _, pair := range written.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		all = append(all, labels)
	}
	return all
}

func (s *stores) isDefined(name string) bool {
	_, err := s.lister.Get(name)
	return err == nil
}

// metricVector is a metric with labels, of the type of component-base.
type metricVector interface {
	prometheus.Collector
	Delete(labels map[string]string) bool
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
