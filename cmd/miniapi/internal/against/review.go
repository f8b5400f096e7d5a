package against

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace/resources"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// workers is the number of objects that are reviewed at the same time. Half of the time of a review of a webhook is
// waiting.
const workers = 4

// reviewPage reviews objects: as created while the server doesn't have them, and as updated while it has them.
func (r *run) reviewPage(ctx context.Context, objects []manifests.Object) error {
	objects = slices.DeleteFunc(slices.Clone(objects), func(object manifests.Object) bool { return r.isJudged(object.Unstructured) })
	if err := r.addNamespaces(ctx, objects); err != nil {
		return err
	}
	reviews := make([]review, len(objects))
	for i, object := range objects {
		at := slices.IndexFunc(r.served, func(of resources.Resource) bool {
			return of.Kind == object.GroupVersionKind() && of.Subresource == ""
		})
		reviews[i] = review{object: object, evaluated: map[string]bool{}}
		if at < 0 {
			reviews[i].failed = fmt.Sprintf("the server doesn't serve %s in %s", object.GetKind(), object.GetAPIVersion())
			continue
		}
		reviews[i].of = r.served[at]
	}
	for _, operation := range r.Operations {
		if operation == admissionv1.Update {
			if err := r.load(ctx, reviews); err != nil {
				return err
			}
		}
		var group errgroup.Group
		group.SetLimit(workers)
		for i := range reviews {
			if reviews[i].failed != "" {
				continue
			}
			group.Go(func() error { return r.review(ctx, &reviews[i], operation) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	for i := range reviews {
		r.report(&reviews[i])
	}
	if !slices.Contains(r.Operations, admissionv1.Update) {
		return nil
	}
	return r.server.Restore(ctx, r.base)
}

// review is the review of one object.
type review struct {
	object manifests.Object
	of     resources.Resource
	// effects are what was found, in the order of the requests, and evaluated are the judged objects that had a part.
	effects   []effect
	evaluated map[string]bool
	// failed says why the object couldn't be reviewed, or is "".
	failed string
}

// effect is what a part does with the object.
type effect struct {
	// judged is the name of the judged object, and by names the binding or the webhook, too.
	judged, by, effect, message string
	operation                   admissionv1.Operation
}

// load stores the objects of the reviews. If they can't be stored together, it stores one after the other, so that
// only the reviews of unusable objects fail.
func (r *run) load(ctx context.Context, reviews []review) error {
	var objects []manifests.Object
	for _, review := range reviews {
		if review.failed == "" {
			objects = append(objects, review.object)
		}
	}
	if r.server.Load(ctx, objects) == nil {
		return nil
	}
	for i := range reviews {
		if reviews[i].failed != "" {
			continue
		}
		if err := r.server.Load(ctx, []manifests.Object{reviews[i].object}); err != nil {
			reviews[i].failed = err.Error()
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// addNamespaces makes the namespaces of objects that the source lacks, without labels of their own.
func (r *run) addNamespaces(ctx context.Context, objects []manifests.Object) error {
	var missing []manifests.Object
	for _, object := range objects {
		name := object.GetNamespace()
		if name == "" || r.namespaces.Has(name) {
			continue
		}
		r.namespaces.Insert(name)
		namespace := &unstructured.Unstructured{}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		namespace.SetName(name)
		namespace.SetLabels(map[string]string{corev1.LabelMetadataName: name})
		missing = append(missing, manifests.Object{Unstructured: namespace, Source: object.Source})
		r.progress.note("namespace %s: isn't in the source, so it is taken to have no labels", name)
	}
	if len(missing) == 0 {
		return nil
	}
	if err := r.server.Load(ctx, missing); err != nil {
		return err
	}
	var err error
	r.base, err = r.server.Snapshot(ctx)
	return err
}

// review makes the dry run of an operation, and adds what it shows.
func (r *run) review(ctx context.Context, v *review, operation admissionv1.Operation) error {
	verb, elements, body := http.MethodPost, []string(nil), created(v.object.Unstructured)
	if operation == admissionv1.Update {
		live := &unstructured.Unstructured{}
		stored, err := r.client.Get().AbsPath(r.path(v, v.object.GetName())).Do(ctx).Raw()
		if err == nil {
			err = live.UnmarshalJSON(stored)
		}
		if err != nil {
			v.failed = fmt.Sprintf("reading the stored object: %v", err)
			return context.Cause(ctx)
		}
		verb, elements, body = http.MethodPut, []string{v.object.GetName()}, live
		r.compare(v, live)
	}
	encoded, err := body.MarshalJSON()
	if err != nil {
		return err
	}
	err = r.client.Verb(verb).AbsPath(r.path(v, elements...)).Param("dryRun", metav1.DryRunAll).SetHeader("Content-Type", "application/json").Body(encoded).Do(ctx).Error()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if apierrors.IsAlreadyExists(err) { // an object of every cluster, after admission
		err = nil
	}
	filter := recorder.Filter{Resource: v.of.GroupResource().String(), Name: v.object.GetName(), Writes: true, Last: 1}
	if v.of.Namespaced {
		filter.Namespace = v.object.GetNamespace()
	}
	found := r.server.Recorded(filter)
	if len(found) == 0 {
		if err != nil {
			v.failed = err.Error()
		}
		return nil
	}
	v.read(found[0], operation)
	r.judge(v, found[0], operation, err)
	return nil
}

func (r *run) path(v *review, elements ...string) string {
	namespace := ""
	if v.of.Namespaced {
		namespace = v.object.GetNamespace()
	}
	return resources.Path(v.of.GroupVersionResource, namespace, elements...)
}

// compare adds the fields that the stored object of a judged definition lacks or has in addition: the definition's schema
// drops unknown fields and sets defaults.
func (r *run) compare(v *review, stored *unstructured.Unstructured) {
	definition, judged := r.scope.definitions[v.of.Kind.GroupKind()]
	if !judged {
		return
	}
	before, _ := json.Marshal(without(v.object.Object, "metadata")) // objects of JSON can be marshalled
	after, _ := json.Marshal(without(stored.Object, "metadata"))
	name := manifests.DefinitionKind.Kind + "/" + definition
	v.evaluated[name] = true
	if message := changes(before, after); message != "" {
		v.add(name, name, Changes, message, admissionv1.Update)
	}
}

func without(object map[string]any, field string) map[string]any {
	rest := map[string]any{}
	for key, value := range object {
		if key != field {
			rest[key] = value
		}
	}
	return rest
}

// shownChanges is the largest number of changed fields in a message.
const shownChanges = 5

// changes returns the changed fields of an object as a text, or "".
func changes(before, after json.RawMessage) string {
	var all []string
	for i, change := range trace.Diff(before, after) {
		if i == shownChanges {
			all = append(all, "…")
			break
		}
		all = append(all, change.String())
	}
	return strings.Join(all, "; ")
}

func (v *review) add(judged, by, what, message string, operation admissionv1.Operation) {
	v.effects = append(v.effects, effect{judged, by, what, message, operation})
}

// read adds what policies and webhooks did with a request, except for refusals.
func (v *review) read(request *trace.Request, operation admissionv1.Operation) {
	for _, admission := range request.Admissions {
		for _, step := range admission.Steps {
			for _, policy := range step.Policies {
				v.readPolicy(policy, operation)
			}
			for _, webhook := range step.Webhooks {
				v.readWebhook(webhook, operation)
			}
		}
	}
}

func (v *review) readPolicy(policy *trace.Policy, operation admissionv1.Operation) {
	name := policy.Kind + "/" + policy.Name
	for _, binding := range policy.Bindings {
		by := name + "/" + binding.Name
		for _, evaluation := range binding.Evaluations {
			v.evaluated[name] = v.evaluated[name] || evaluation.Outcome != ""
			if message := changes(evaluation.Before, evaluation.After); message != "" {
				v.add(name, by, Changes, message, operation)
			}
			messages := []string{evaluation.Error}
			for _, x := range evaluation.Expressions {
				messages = append(messages, x.Message)
			}
			message := strings.Join(slices.DeleteFunc(messages, func(text string) bool { return text == "" }), "; ")
			switch {
			case evaluation.Outcome == trace.FailedOpen:
				v.add(name, by, Ignores, message, operation)
			case evaluation.Outcome == trace.Reported && slices.Contains(binding.Actions, "Warn"):
				v.add(name, by, Warns, message, operation)
			case evaluation.Outcome == trace.Reported:
				v.add(name, by, Audits, message, operation)
			}
		}
	}
}

func (v *review) readWebhook(webhook *trace.Webhook, operation admissionv1.Operation) {
	call := webhook.Call
	if call == nil {
		return
	}
	name, by := webhook.Kind+"/"+webhook.Name, webhook.String()
	v.evaluated[name] = true
	if message := changes(call.Before, call.After); message != "" {
		v.add(name, by, Changes, message, operation)
	}
	if len(call.Warnings) > 0 {
		v.add(name, by, Warns, strings.Join(call.Warnings, "; "), operation)
	}
	if call.Outcome == trace.FailedOpen && call.Error != nil {
		v.add(name, by, Ignores, call.Error.Message, operation)
	}
}

// judge adds the refusal of a request. An object that neither a policy nor a webhook nor the definition refuses, and that
// none of them has changed, couldn't be reviewed.
func (r *run) judge(v *review, request *trace.Request, operation admissionv1.Operation, err error) {
	definition, defined := r.scope.definitions[v.of.Kind.GroupKind()]
	name := manifests.DefinitionKind.Kind + "/" + definition
	if defined {
		v.evaluated[name] = true
	}
	if err == nil {
		return
	}
	changed := slices.IndexFunc(v.effects, func(e effect) bool { return e.effect == Changes && e.operation == operation })
	switch refused := request.Refused(); {
	case refused != nil && refused.Webhook != nil:
		v.add(refused.Webhook.Kind+"/"+refused.Webhook.Name, refused.By(), Refuses, reasonOf(refused), operation)
	case refused != nil && refused.Policy != nil:
		v.add(refused.Policy.Kind+"/"+refused.Policy.Name, refused.By(), Refuses, reasonOf(refused), operation)
	case defined && apierrors.IsInvalid(err):
		v.add(name, name, Refuses, err.Error(), operation)
	case changed >= 0 && apierrors.IsInvalid(err):
		cause := v.effects[changed]
		v.add(cause.judged, cause.by, Refuses, "the changed object is invalid: "+err.Error(), operation)
	default:
		v.failed = fmt.Sprintf("as %s: %v", operation, err)
	}
}

// reasonOf returns the message of a policy or a webhook, without the words that name the object.
func reasonOf(refused *trace.Refusal) string {
	for _, denied := range []string{" denied request: ", " denied the request: "} {
		if _, reason, found := strings.Cut(refused.Error.Message, denied); found {
			return reason
		}
	}
	return refused.Error.Message
}

// report adds a review to the report.
func (r *run) report(v *review) {
	report := r.progress.Report
	report.Objects++
	object := Affected{Kind: v.object.GetKind(), Namespace: v.object.GetNamespace(), Name: v.object.GetName(), Operations: []string{}}
	if v.failed != "" {
		object.Message = v.failed
		report.Unreviewed = append(report.Unreviewed, object)
	}
	for _, judged := range report.Judged {
		if v.evaluated[judged.Name] {
			judged.Evaluated++
		}
		for _, e := range v.effects {
			if e.judged == judged.Name {
				found := object
				found.Message, found.Operations = e.message, []string{string(e.operation)}
				judged.add(e.by, e.effect, found)
			}
		}
	}
}

// created returns an object as a client would create it: without what a server sets.
func created(object *unstructured.Unstructured) *unstructured.Unstructured {
	made := object.DeepCopy()
	for _, path := range append([][]string{
		{"status"}, {"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "creationTimestamp"}, {"metadata", "generation"},
		{"metadata", "managedFields"}, {"metadata", "deletionTimestamp"}, {"metadata", "deletionGracePeriodSeconds"}, {"metadata", "selfLink"},
	}, setByServer[object.GroupVersionKind().GroupKind().String()]...) {
		unstructured.RemoveNestedField(made.Object, path...)
	}
	return made
}

// setByServer are the fields, by kind, that a server sets at the creation and that a second creation can't have.
var setByServer = map[string][][]string{
	"Service": {{"spec", "clusterIP"}, {"spec", "clusterIPs"}, {"spec", "healthCheckNodePort"}},
	"Job.batch": {
		{"spec", "selector"}, {"spec", "template", "metadata", "labels", "controller-uid"},
		{"spec", "template", "metadata", "labels", "batch.kubernetes.io/controller-uid"},
	},
}
