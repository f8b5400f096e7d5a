// Package against finds which existing objects policies, webhooks and definitions would refuse, change or warn about: the
// objects of a cluster, or of files that kubectl has written. [Run] is the way in. Each object is reviewed by dry runs on
// a server of its own.
//
// Don't use the package for cases with expectations: package runner of the fixture has those.
package against

import (
	"context"
	"fmt"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/policycheck"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace/resources"
	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/server/authz"
)

// Options say what is judged, and by which objects.
type Options struct {
	// Objects are the policies, bindings, webhook configurations, definitions and parameters that are judged.
	Objects []manifests.Object
	// Source is the file of a kubeconfig, or a file, a folder or a glob with captured objects.
	Source string
	// Operations are CREATE, UPDATE or both. A CREATE reviews an object as if it were made again, and an UPDATE as a
	// write that changes nothing.
	Operations []admissionv1.Operation
	// State is a file with which a run that was interrupted goes on, or "".
	State string
	// Progress, if set, is called with the number of reviewed objects and of those that are known to be left.
	Progress func(reviewed, left int, resource string)
	// Serve runs a server with changed options until work returns.
	Serve func(ctx context.Context, change func(*server.Options), work func(context.Context, *server.Server) error) error
}

// run is a call of Run.
type run struct {
	Options
	scope  scope
	source source
	server *server.Server
	// client makes the requests of an admin.
	client rest.Interface
	served []resources.Resource
	// namespaces are the names of the namespaces that the server has, and base are its objects between pages.
	namespaces sets.Set[string]
	base       *server.Snapshot
	progress   progress
}

// Run reviews the objects of the source. After an error, the report is about the objects until then.
func Run(ctx context.Context, o Options) (*Report, error) {
	started := time.Now()
	r := &run{Options: o, scope: scopeOf(o.Objects), namespaces: sets.New[string]()}
	var err error
	if r.progress, err = resume(o); err != nil {
		return nil, err
	}
	if r.source, err = open(o.Source); err != nil {
		return nil, err
	}
	err = o.Serve(ctx, configure, func(ctx context.Context, s *server.Server) error {
		r.server = s
		if err := r.prepare(ctx); err != nil {
			return err
		}
		return r.reviewAll(ctx)
	})
	report := r.progress.Report
	report.Took = time.Since(started)
	if err != nil {
		return report, err // the state file has the pages that are complete
	}
	return report, remove(o.State)
}

// configure changes the options of the server. Of the admission plugins, only those of policies and webhooks are on,
// because the plugins of the cluster have admitted the objects.
func configure(o *server.Options) {
	o.Authorization.Modes = []string{authz.ModeRBAC}
	o.Admission.Only = []string{trace.MutatingPolicy, trace.MutatingPlugin, trace.ValidatingPolicy, trace.ValidatingPlugin}
	o.AdmissionTrace.Requests = 20 * workers
}

// around are the resources whose objects decide about the review of others.
var around = struct{ definitions, namespaces resources.Resource }{
	resources.Resource{GroupVersionResource: schema.GroupVersionResource{Group: manifests.DefinitionGroup, Version: "v1", Resource: "customresourcedefinitions"}, Kind: manifests.DefinitionKind},
	resources.Resource{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("namespaces"), Kind: corev1.SchemeGroupVersion.WithKind("Namespace")},
}

// prepare gives the server what decides about reviews: the definitions, namespaces, roles and parameters of the source, and
// the objects that are judged.
func (r *run) prepare(ctx context.Context) error {
	objects, err := r.read(ctx, around.definitions, func(definition *unstructured.Unstructured) bool {
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		return r.scope.hasGroup(group) && !r.isJudged(definition)
	})
	if err != nil {
		return err
	}
	namespaces, err := r.read(ctx, around.namespaces, nil)
	if err != nil {
		return err
	}
	for _, namespace := range namespaces {
		r.namespaces.Insert(namespace.GetName())
	}
	objects = append(objects, namespaces...)
	if r.scope.authorizes {
		for resource, kind := range map[string]string{"roles": "Role", "rolebindings": "RoleBinding", "clusterroles": "ClusterRole", "clusterrolebindings": "ClusterRoleBinding"} {
			roles, err := r.read(ctx, resources.Resource{GroupVersionResource: rbacv1.SchemeGroupVersion.WithResource(resource), Kind: rbacv1.SchemeGroupVersion.WithKind(kind)}, nil)
			if err != nil {
				return err
			}
			objects = append(objects, roles...)
		}
	}
	if err := r.server.Load(ctx, objects); err != nil {
		return err
	}
	if err := r.install(ctx); err != nil {
		return err
	}
	for _, kind := range r.scope.params {
		if err := r.loadParams(ctx, kind); err != nil {
			return err
		}
	}
	r.base, err = r.server.Snapshot(ctx)
	return err
}

// install applies what is judged, the definitions first, and reads the resources that the server then has.
func (r *run) install(ctx context.Context) error {
	config := r.server.OwnConfig()
	ordered := slices.Clone(r.Objects)
	slices.SortStableFunc(ordered, func(a, b manifests.Object) int {
		switch first, second := manifests.IsDefinition(a.GroupVersionKind()), manifests.IsDefinition(b.GroupVersionKind()); {
		case first == second:
			return 0
		case first:
			return -1
		}
		return 1
	})
	if err := (manifests.Applier{Config: config}).Apply(ctx, ordered); err != nil {
		return err
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:admin", Groups: []string{"system:masters"}}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	r.client = client.RESTClient()
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // if only some groups fail, use the others
		return fmt.Errorf("reading the resources of the server: %w", err)
	}
	r.served = resources.Of(lists)
	return nil
}

// isJudged reports whether an object of the source is one of those that are judged, in its present state.
func (r *run) isJudged(object *unstructured.Unstructured) bool {
	return slices.ContainsFunc(r.Objects, func(judged manifests.Object) bool {
		return judged.GroupVersionKind().GroupKind() == object.GroupVersionKind().GroupKind() && judged.GetNamespace() == object.GetNamespace() && judged.GetName() == object.GetName()
	})
}

// loadParams gives the server the parameters of a kind. Without its definition, the source has none.
func (r *run) loadParams(ctx context.Context, kind schema.GroupVersionKind) error {
	at := slices.IndexFunc(r.served, func(served resources.Resource) bool { return served.Kind == kind && served.Subresource == "" })
	if at < 0 {
		r.progress.note("neither the source nor the judged files have the definition of the parameters %s in %s", kind.Kind, kind.GroupVersion())
		return nil
	}
	params, err := r.read(ctx, r.served[at], func(param *unstructured.Unstructured) bool { return !r.isJudged(param) })
	if err != nil {
		return err
	}
	return r.server.Load(ctx, params)
}

// read reads all objects of a resource from the source for which the function wanted, if it is set, returns true.
func (r *run) read(ctx context.Context, of resources.Resource, wanted func(*unstructured.Unstructured) bool) ([]manifests.Object, error) {
	var all []manifests.Object
	for token := ""; ; {
		p, err := r.source.list(ctx, of, token, pageSize)
		if err != nil {
			return nil, err
		}
		for _, object := range p.objects {
			if wanted == nil || wanted(object.Unstructured) {
				all = append(all, object)
			}
		}
		if token = p.next; token == "" {
			return all, nil
		}
	}
}

// reviewed returns the resources whose objects are reviewed: those that a rule names. The objects that configure
// admission aren't, because those of the source must not be in force.
func (r *run) reviewed() []resources.Resource {
	var all []resources.Resource
	known := sets.New[schema.GroupKind]()
	for _, of := range r.served {
		if r.scope.has(of) && slices.Contains(of.Verbs, "update") && !configures(of) && !known.Has(of.Kind.GroupKind()) {
			known.Insert(of.Kind.GroupKind())
			all = append(all, of)
		}
	}
	return all
}

func configures(of resources.Resource) bool {
	return policycheck.Wanted(of.Kind) || of.Group == "apiregistration.k8s.io"
}

// reviewAll reviews the objects of all resources, page by page.
func (r *run) reviewAll(ctx context.Context) error {
	if len(r.progress.Done) == 0 && r.progress.Next == "" {
		for _, of := range r.source.unserved(r.served) {
			if r.scope.has(of) {
				r.progress.note("%s in %s: the server doesn't have the kind, so its objects aren't reviewed", of.Kind.Kind, of.Kind.GroupVersion())
			}
		}
	}
	for _, of := range r.reviewed() {
		if slices.Contains(r.progress.Done, of.String()) {
			continue
		}
		for {
			p, err := r.source.list(ctx, of, r.progress.Next, pageSize)
			if err != nil {
				return err
			}
			if err := r.reviewPage(ctx, p.objects); err != nil {
				return err
			}
			if r.progress.Next = p.next; p.next == "" {
				r.progress.Done = append(r.progress.Done, of.String())
			}
			if err := r.progress.save(r.State); err != nil {
				return err
			}
			if r.Progress != nil {
				r.Progress(r.progress.Report.Objects, p.left, of.String())
			}
			if p.next == "" {
				break
			}
		}
	}
	return nil
}
