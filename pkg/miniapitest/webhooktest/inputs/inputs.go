// Package inputs makes the inputs of a suite for webhooks: the AdmissionReviews that an API server sends. The package
// makes requests to a server and records the reviews. The requests have objects of the caller, sample objects, and
// random objects that follow the schema. The same server then checks the objects that webhooks have patched.
//
// Don't use the package with a server that others use: it registers webhooks for all resources of the webhooks' rules,
// and writes objects.
package inputs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

// DefaultFuzzed is the default number of random objects for each resource.
const DefaultFuzzed = 3

// Options are the options of a Source.
type Options struct {
	// Config is the client configuration of an administrator. The server must have no other users.
	Config *rest.Config
	// Objects are sent to the webhooks. For a resource without an object in the list, the Source uses a sample object or
	// a random one.
	Objects []*unstructured.Unstructured
	// Seed is the seed of the random objects.
	Seed uint64
	// Fuzzed is the number of random objects for each resource. 0 stands for DefaultFuzzed, and a negative number for
	// none.
	Fuzzed int
}

// Source makes requests to a server and records the reviews. It implements webhooksuite.Judge.
type Source struct {
	options   Options
	client    kubernetes.Interface
	dynamic   dynamic.Interface
	samples   samples
	schemas   map[string]map[string]any
	resources []resource
	namespace string
}

// resource is a resource that the server serves.
type resource struct {
	schema.GroupVersionResource
	kind         string
	namespaced   bool
	preferred    bool
	custom       bool
	verbs        []string
	subresources []string
}

// New returns a Source. It requests the list of resources from the server.
func New(ctx context.Context, o Options) (*Source, error) {
	if o.Config == nil {
		return nil, errors.New("a source of inputs: Options.Config must be set, to the client configuration of a server")
	}
	if o.Fuzzed == 0 {
		o.Fuzzed = DefaultFuzzed
	}
	config := rest.CopyConfig(o.Config)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	c := &Source{options: o, schemas: map[string]map[string]any{}, namespace: "conformance"}
	var err error
	if c.samples, err = readSamples(); err != nil {
		return nil, err
	}
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	return c, c.discover()
}

// discover lists the resources of the server whose objects clients can create.
func (s *Source) discover() error {
	groups, lists, err := s.client.Discovery().ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return fmt.Errorf("listing the resources of the server: %w", err)
	}
	preferred := map[string]bool{}
	for _, group := range groups {
		preferred[group.PreferredVersion.GroupVersion] = true
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return fmt.Errorf("listing the resources of the server: %w", err)
		}
		subresources := map[string][]string{}
		for i := range list.APIResources {
			if main, sub, is := strings.Cut(list.APIResources[i].Name, "/"); is {
				subresources[main] = append(subresources[main], sub)
			}
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "create") {
				continue
			}
			s.resources = append(s.resources, resource{
				GroupVersionResource: gv.WithResource(r.Name), kind: r.Kind, namespaced: r.Namespaced,
				preferred: preferred[list.GroupVersion],
				custom:    strings.Contains(gv.Group, ".") && !strings.HasSuffix(gv.Group, ".k8s.io"), verbs: r.Verbs,
				subresources: subresources[r.Name],
			})
		}
	}
	sort.SliceStable(s.resources, func(i, j int) bool { return s.resources[i].Group < s.resources[j].Group })
	return nil
}

// of returns a client for a resource. It ignores the namespace if the resource isn't namespaced.
func (s *Source) of(r *resource, namespace string) dynamic.ResourceInterface {
	if r.namespaced {
		return s.dynamic.Resource(r.GroupVersionResource).Namespace(namespace)
	}
	return s.dynamic.Resource(r.GroupVersionResource)
}

// Valid implements webhooksuite.Judge. If the server serves the resource of the input, Valid sends a create request for the
// object. The request is a dry run with strict field validation.
func (s *Source) Valid(ctx context.Context, in *webhooksuite.Input, object map[string]any) error {
	group, version, name := in.Resource()
	for i := range s.resources {
		r := &s.resources[i]
		if r.GroupVersionResource != (schema.GroupVersionResource{Group: group, Version: version, Resource: name}) {
			continue
		}
		u, err := asUnstructured(object)
		if err != nil {
			return err
		}
		u.SetResourceVersion("")
		u.SetUID("")
		u.SetManagedFields(nil)
		_, err = s.of(r, u.GetNamespace()).Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			return err
		}
	}
	return nil // any other error isn't about the object
}

// Inputs makes requests for the rules of the webhooks. It returns reviews that the webhooks would get, each with the
// index of its webhook. The result uncovered has the resources of rules for which there was no review, and the reasons
// why objects weren't created.
func (s *Source) Inputs(ctx context.Context, hooks []webhooksuite.Hook) (inputs []*webhooksuite.Input, uncovered []string, err error) {
	recorder, err := record(hooks)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, recorder.close()) }()
	if err := s.prepare(ctx, hooks); err != nil {
		return nil, nil, err
	}
	if err := recorder.register(ctx, s); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, recorder.unregister(context.WithoutCancel(ctx), s)) }()
	run := &requests{Source: s, recorder: recorder, hooks: hooks}
	for i := range s.resources {
		if r := &s.resources[i]; run.wanted(r) {
			if err := run.resource(ctx, r); err != nil {
				return nil, nil, err
			}
		}
	}
	inputs, err = recorder.inputs()
	return inputs, run.uncovered(inputs), err
}

// prepare creates the namespaces of the objects, unless they exist. A new namespace has the matchLabels of the
// webhooks' namespaceSelectors.
func (s *Source) prepare(ctx context.Context, hooks []webhooksuite.Hook) error {
	labels := map[string]any{}
	for i := range hooks {
		if selector := hooks[i].Entry.NamespaceSelector; selector != nil {
			for key, value := range selector.MatchLabels {
				labels[key] = value
			}
		}
	}
	names := map[string]bool{s.namespace: true}
	for _, object := range s.options.Objects {
		if object.GetNamespace() != "" {
			names[object.GetNamespace()] = true
		}
	}
	namespaces := s.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	for name := range names {
		own := map[string]any{}
		for key, value := range labels {
			if key != "kubernetes.io/metadata.name" {
				own[key] = value
			}
		}
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "labels": own}}}
		if _, err := namespaces.Create(ctx, object, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating namespace %s: %w", name, err)
		}
	}
	return nil
}

// timeout limits the time until the server calls the registered webhooks.
const timeout = 20 * time.Second
