package inputs

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"slices"
	"sort"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

// attempts is the largest number of random objects that the suite tries to create until the server accepts one.
const attempts = 6

// requests makes the requests of one call of Source.Inputs.
type requests struct {
	*Source
	recorder *recorder
	hooks    []webhooksuite.Hook
	// refused are the reasons why objects weren't created: errors of the server, and schemas without a finite value.
	refused []string
}

// isCommon tells whether a resource is one of the common resources: some resources of Kubernetes, and all custom
// resources, each in its preferred version. For a rule with an asterisk, these resources stand for all resources.
func (r *resource) isCommon() bool {
	switch r.Group + "/" + r.Resource {
	case "/pods", "/configmaps", "/services", "/serviceaccounts", "/namespaces", "apps/deployments", "networking.k8s.io/ingresses", "rbac.authorization.k8s.io/clusterroles":
		return r.preferred
	}
	return r.custom && r.preferred
}

// stands tells whether the suite tests a resource for a rule with an asterisk. The suite tests the common resources,
// and the resources with an object in Options.Objects. If no webhook has a configuration and Options.Objects isn't
// empty, it tests only the resources with such an object.
func (q *requests) stands(r *resource) bool {
	for _, object := range q.options.Objects {
		if object.GroupVersionKind() == r.GroupVersion().WithKind(r.kind) {
			return true
		}
	}
	configured := false
	for i := range q.hooks {
		configured = configured || q.hooks[i].Configuration != nil
	}
	return r.isCommon() && (configured || len(q.options.Objects) == 0)
}

// wanted tells whether the suite tests a resource. A rule must match the resource. If the rule has an asterisk as the
// group or the resource, the method stands must also return true.
func (q *requests) wanted(r *resource) bool {
	for i := range q.hooks {
		for j := range q.hooks[i].Entry.Rules {
			rule := &q.hooks[i].Entry.Rules[j]
			if rule.Scope != nil && (*rule.Scope == admissionregistrationv1.ClusterScope && r.namespaced || *rule.Scope == admissionregistrationv1.NamespacedScope && !r.namespaced) {
				continue
			}
			named, groups := slices.Contains(rule.APIVersions, r.Version) || slices.Contains(rule.APIVersions, "*") && r.preferred, slices.Contains(rule.APIGroups, r.Group)
			if !named || !groups && !slices.Contains(rule.APIGroups, "*") {
				continue
			}
			for _, of := range rule.Resources {
				main, _, _ := strings.Cut(of, "/")
				if main == r.Resource && groups || (main == "*" || main == r.Resource) && q.stands(r) {
					return true
				}
			}
		}
	}
	return false
}

// resource makes all requests for a resource.
func (q *requests) resource(ctx context.Context, r *resource) error {
	bases, err := q.bases(r)
	if err != nil {
		return err
	}
	for i, base := range bases {
		q.decorate(base.object, r, fmt.Sprintf("conformance-%d", i))
		if err := q.life(ctx, r, base); err != nil {
			return err
		}
	}
	if len(bases) == 0 || q.options.Fuzzed < 0 {
		return nil
	}
	for n := range q.options.Fuzzed {
		if err := q.fuzzed(ctx, r, bases[n%len(bases)].object, n); err != nil {
			return err
		}
	}
	return nil
}

// named is an object and its origin.
type named struct {
	object *unstructured.Unstructured
	origin string
}

// bases returns the objects for the requests of a resource: the objects in Options.Objects, or else the sample, or else
// a random object. It returns no object if there is no schema, or if no value of the schema is finite.
func (q *requests) bases(r *resource) ([]named, error) {
	var bases []named
	for _, object := range q.options.Objects {
		if object.GroupVersionKind() == r.GroupVersion().WithKind(r.kind) {
			bases = append(bases, named{object.DeepCopy(), fmt.Sprintf("the given object %s", object.GetName())})
		}
	}
	if len(bases) > 0 {
		return bases, nil
	}
	if sample := q.samples.of(r); sample != nil {
		return []named{{sample, "a sample"}}, nil
	}
	schema, err := q.schema(r)
	if err != nil || schema == nil {
		return nil, err
	}
	g := q.generator(r, -1)
	value, ends := g.value(schema, 0)
	if !ends {
		q.refused = append(q.refused, fmt.Sprintf("no object of %s can be generated, because a required field refers to the schema that it is in: give an object", r.GroupVersionResource.String()))
		return nil, nil
	}
	object, _ := value.(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	u := &unstructured.Unstructured{Object: object}
	delete(u.Object, "status")
	delete(u.Object, "metadata")
	return []named{{u, fmt.Sprintf("generated, seed %d", q.options.Seed)}}, nil
}

// decorate sets the kind of an object and, if they are missing, its name and namespace. It adds the matchLabels of the
// webhooks' object selectors, and removes resourceVersion, uid and managedFields.
func (q *requests) decorate(u *unstructured.Unstructured, r *resource, name string) {
	u.SetGroupVersionKind(r.GroupVersion().WithKind(r.kind))
	if u.GetName() == "" {
		u.SetName(name)
	}
	if r.namespaced && u.GetNamespace() == "" {
		u.SetNamespace(q.namespace)
	}
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	for i := range q.hooks {
		if s := q.hooks[i].Entry.ObjectSelector; s != nil {
			for key, value := range s.MatchLabels {
				labels[key] = value
			}
		}
	}
	if len(labels) > 0 {
		u.SetLabels(labels)
	}
	u.SetResourceVersion("")
	u.SetUID("")
	u.SetManagedFields(nil)
}

// life makes the requests of an object's life: it creates the object, updates it and its subresources, connects to it,
// and deletes it.
func (q *requests) life(ctx context.Context, r *resource, base named) error {
	client := q.of(r, base.object.GetNamespace())
	created, err := client.Create(ctx, base.object, metav1.CreateOptions{})
	q.recorder.keep(err == nil, origin{text: base.origin})
	if err != nil {
		if ctx.Err() == nil && !apierrors.IsAlreadyExists(err) {
			q.refused = append(q.refused, err.Error())
		}
		return ctx.Err()
	}
	if slices.Contains(r.verbs, "update") {
		changed := created.DeepCopy()
		annotations := changed.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations["conformance.miniapi.dev/updated"] = "true"
		changed.SetAnnotations(annotations)
		updated, err := client.Update(ctx, changed, metav1.UpdateOptions{})
		q.recorder.keep(err == nil, origin{text: base.origin})
		if err == nil {
			created = updated
		}
	}
	for _, sub := range r.subresources {
		q.subresource(ctx, r, created, sub, base.origin)
	}
	none := int64(0)
	err = client.Delete(ctx, created.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &none})
	q.recorder.keep(err == nil, origin{text: base.origin})
	return ctx.Err()
}

// subresource makes the requests for a subresource, unless the subresource is unknown. A connection always fails after
// admission, because the server has no nodes.
func (q *requests) subresource(ctx context.Context, r *resource, object *unstructured.Unstructured, sub, base string) {
	client := q.of(r, object.GetNamespace())
	switch sub {
	case "status", "finalize", "approval", "ephemeralcontainers", "resize", "scale":
		live, err := client.Get(ctx, object.GetName(), metav1.GetOptions{}, sub)
		if err == nil {
			_, err = client.Update(ctx, live, metav1.UpdateOptions{}, sub)
		}
		q.recorder.keep(err == nil, origin{text: base})
	case "eviction":
		eviction := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "policy/v1", "kind": "Eviction",
			"metadata": map[string]any{"name": object.GetName(), "namespace": object.GetNamespace()},
		}}
		_, err := client.Create(ctx, eviction, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}, sub)
		q.recorder.keep(err == nil, origin{text: base})
	case "token":
		token := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": map[string]any{"name": object.GetName()}, "spec": map[string]any{"audiences": []any{"conformance"}}}}
		_, err := client.Create(ctx, token, metav1.CreateOptions{}, sub)
		q.recorder.keep(err == nil, origin{text: base})
	case "exec", "attach", "portforward":
		request := q.client.CoreV1().RESTClient().Post().AbsPath(path.Join("/api/v1/namespaces", object.GetNamespace(), r.Resource, object.GetName(), sub))
		if sub != "portforward" {
			request.Param("stdout", "true").Param("command", "true")
		}
		_ = request.Do(ctx).Error()
		q.recorder.keep(true, origin{text: base})
	}
}

// fuzzed creates the random object with the number n, and deletes it. The object is base with random fields. If the
// server refuses the object, fuzzed tries further random objects.
func (q *requests) fuzzed(ctx context.Context, r *resource, base *unstructured.Unstructured, n int) error {
	schema, err := q.schema(r)
	if err != nil || schema == nil {
		return err
	}
	g := q.generator(r, n)
	from := origin{text: fmt.Sprintf("random object %d, seed %d", n+1, q.options.Seed), random: true}
	for attempt := range attempts {
		g.odds = 0.4 / float64(attempt+1)
		object := base.DeepCopy()
		g.vary(object.Object, schema)
		object.SetName(fmt.Sprintf("conformance-%d-%d", n, attempt))
		q.metadata(object, n)
		client := q.of(r, object.GetNamespace())
		_, err := client.Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		q.recorder.keep(err == nil, from)
		if err == nil {
			none := int64(0)
			err := client.Delete(ctx, object.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &none})
			q.recorder.keep(err == nil, from)
			return ctx.Err()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// metadata adds labels to every second random object, and replaces its annotations. Some of the keys have a slash, some
// of the values are empty, and the value of an annotation has special characters such as quotes.
func (q *requests) metadata(u *unstructured.Unstructured, n int) {
	if n%2 == 0 {
		return
	}
	labels, annotations := u.GetLabels(), map[string]string{"example.com/a.b_c": "äöü \"quoted\" \\ / ~0~1", "plain": ""}
	if labels == nil {
		labels = map[string]string{}
	}
	labels["example.com/team"], labels["app.kubernetes.io/name"] = "conformance", ""
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
}

// generator returns a generator for the random object with the number n. The random numbers of the generator depend
// only on the seed, the resource and n.
func (q *requests) generator(r *resource, n int) *generator {
	hash := fnv.New64a()
	fmt.Fprint(hash, r.GroupVersionResource, n)
	return &generator{random: rand.New(rand.NewPCG(q.options.Seed, hash.Sum64())), schemas: q.schemas[r.GroupVersion().String()], odds: 0}
}

// uncovered returns the resources of rules for which a webhook got no review, and the reasons why objects weren't
// created. It leaves out resources such as pods/* and */scale.
func (q *requests) uncovered(inputs []*webhooksuite.Input) []string {
	sent := map[string]bool{}
	for _, in := range inputs {
		_, _, resource := in.Resource()
		if sub := in.Subresource(); sub != "" {
			resource += "/" + sub
		}
		sent[fmt.Sprintf("%d %s", in.Hook, resource)] = true
		sent[fmt.Sprintf("%d *", in.Hook)] = true
	}
	var missing []string
	for i := range q.hooks {
		for j := range q.hooks[i].Entry.Rules {
			for _, of := range q.hooks[i].Entry.Rules[j].Resources {
				if !strings.Contains(of, "*") && !sent[fmt.Sprintf("%d %s", i, of)] || of == "*" && !sent[fmt.Sprintf("%d *", i)] {
					missing = append(missing, fmt.Sprintf("%s: rule %d: no input for %s", q.hooks[i].Name, j+1, of))
				}
			}
		}
	}
	sort.Strings(q.refused)
	return append(missing, q.refused...)
}
