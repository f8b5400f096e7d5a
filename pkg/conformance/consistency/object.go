package consistency

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// Content is what clients write to an object. Each text is one that no other write has, so it names the write.
type Content struct {
	// Value is an annotation that is created, updated and patched. Applied is an annotation that is applied. Status is
	// a name in the status.
	Value, Applied, Status string
}

// Version is an object at a resource version.
type Version struct {
	Revision uint64
	UID      string
	Content  Content
}

func (v Version) String() string {
	return fmt.Sprintf("resourceVersion %d of uid %s with %+v", v.Revision, v.UID, v.Content)
}

// kind is a resource whose objects the clients write.
type kind struct {
	resource trial.Resource
	// spec is the spec of each object, or nil.
	spec map[string]any
	// status tells whether the objects have a status that no controller writes.
	status bool
}

// kinds are the resources that a run writes, if the server serves them. No controller changes these objects: no
// controller has the class of the Ingress.
var kinds = []kind{
	{resource: trial.ConfigMaps},
	{resource: trial.Resource{Group: "networking.k8s.io", Version: "v1", Name: "ingresses", Kind: "Ingress", Namespaced: true}, status: true, spec: map[string]any{
		"ingressClassName": "conformance-none",
		"defaultBackend":   map[string]any{"service": map[string]any{"name": "none", "port": map[string]any{"number": 1}}},
	}},
}

const (
	// prefix is the beginning of the names of the run's objects. Controllers may create others in the namespace, as
	// kube-root-ca.crt.
	prefix = "o-"
	// lastName is the name of the object that is created after all other writes.
	lastName = prefix + "last"

	valueAnnotation   = "conformance.miniapi.dev/value"
	appliedAnnotation = "conformance.miniapi.dev/applied"
)

// object is the JSON of an object, as far as clients write and check it.
type object struct {
	APIVersion string         `json:"apiVersion,omitempty"`
	Kind       string         `json:"kind,omitempty"`
	Metadata   metadata       `json:"metadata"`
	Spec       map[string]any `json:"spec,omitempty"`
	Status     *status        `json:"status,omitempty"`
}

type metadata struct {
	Name            string            `json:"name,omitempty"`
	UID             string            `json:"uid,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
}

// status is the status of an Ingress.
type status struct {
	LoadBalancer loadBalancer `json:"loadBalancer"`
}

type loadBalancer struct {
	Ingress []point `json:"ingress,omitempty"`
}

type point struct {
	Hostname string `json:"hostname,omitempty"`
}

// statusOf returns a status that has a text.
func statusOf(text string) *status {
	return &status{loadBalancer{[]point{{Hostname: text}}}}
}

// object returns an object of the kind, without content.
func (k *kind) object(name string) *object {
	return &object{APIVersion: k.resource.GroupVersion(), Kind: k.resource.Kind, Metadata: metadata{Name: name}, Spec: k.spec}
}

// annotated returns an object of the kind with the annotations of a content.
func (k *kind) annotated(name string, c Content) *object {
	o := k.object(name)
	o.Metadata.Annotations = map[string]string{}
	for key, text := range map[string]string{valueAnnotation: c.Value, appliedAnnotation: c.Applied} {
		if text != "" {
			o.Metadata.Annotations[key] = text
		}
	}
	return o
}

// decode returns the name and the version of an object in JSON.
func decode(body []byte) (string, Version, error) {
	var o object
	if err := json.Unmarshal(body, &o); err != nil {
		return "", Version{}, err
	}
	version, err := o.version()
	return o.Metadata.Name, version, err
}

func (o *object) version() (Version, error) {
	revision, err := parseRevision(o.Metadata.ResourceVersion)
	v := Version{Revision: revision, UID: o.Metadata.UID, Content: Content{
		Value: o.Metadata.Annotations[valueAnnotation], Applied: o.Metadata.Annotations[appliedAnnotation],
	}}
	if o.Status != nil {
		for _, p := range o.Status.LoadBalancer.Ingress {
			v.Content.Status = p.Hostname
		}
	}
	return v, err
}

func parseRevision(text string) (uint64, error) {
	revision, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resourceVersion %q: must be a number", text)
	}
	return revision, nil
}

// written reports whether an object of the name is one that the run writes.
func written(name string) bool { return strings.HasPrefix(name, prefix) }
