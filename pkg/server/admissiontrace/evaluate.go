package admissiontrace

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace/resources"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// maxEvaluation is the largest size of an Evaluation in bytes. It is larger than 3 MiB, the largest request body of the
// API.
const maxEvaluation = 4 << 20

// Evaluation describes a hypothetical request. Admission handles it like a real request, but calls no webhook, and the
// server stores nothing.
type Evaluation struct {
	// Webhook names the webhook or the policy in question, as KIND/NAME[/WEBHOOK] or KIND/NAME[/BINDING].
	Webhook string `json:"webhook"`
	// Operation is CREATE, UPDATE, DELETE or CONNECT. The default is CREATE.
	Operation string `json:"operation,omitempty"`
	// Object is the object of the request. For DELETE and CONNECT, its apiVersion, kind, name and namespace are enough.
	Object json.RawMessage `json:"object"`
	// Subresource is the subresource of an UPDATE, such as status, or of a CONNECT, such as exec.
	Subresource string `json:"subresource,omitempty"`
	// User and Groups are the user name and the groups of the request. With a User, authorization decides about the
	// request, as about a real request. Without a User, the request has the user and the groups of the client that
	// requests the evaluation, and authorization doesn't decide about it.
	User   string   `json:"user,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// DryRun asks about a dry run. Webhooks with side effects aren't called for a dry run.
	DryRun bool `json:"dryRun,omitempty"`
}

// methods maps operations to the HTTP methods of their requests.
var methods = map[string]string{
	create: http.MethodPost, update: http.MethodPut, remove: http.MethodDelete, connect: http.MethodPost,
}

// These are the operations of an Evaluation.
const (
	create  = "CREATE"
	update  = "UPDATE"
	remove  = "DELETE"
	connect = "CONNECT"
)

// evaluator makes requests in this process, and returns the records of their admission.
type evaluator struct {
	Config
	// api is the handler of requests for resources.
	api atomic.Pointer[http.Handler]
}

// evaluate sends the request of an Evaluation to the server's own handler of resources, and returns the trace of the
// request. So the object is decoded, defaulted, changed by plugins and policies, and validated as in a real request. If
// authorization refuses the request of the Evaluation's user, the trace shows only the refusal.
func (e *evaluator) evaluate(ctx context.Context, asked Evaluation) (*trace.Request, error) {
	operation := cmp.Or(strings.ToUpper(asked.Operation), create)
	method, ok := methods[operation]
	switch {
	case !ok:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("operation %q: must be CREATE, UPDATE, DELETE or CONNECT", asked.Operation))
	case operation == connect && asked.Subresource == "":
		return nil, apierrors.NewBadRequest("subresource: must name the subresource to connect to, such as exec")
	case asked.Subresource != "" && (operation == create || operation == remove):
		return nil, apierrors.NewBadRequest(fmt.Sprintf("subresource %q: is for UPDATE and CONNECT, not for %s", asked.Subresource, operation))
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(asked.Object); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("object: %v", err))
	}
	resource, err := e.resourceOf(object)
	if err != nil {
		return nil, err
	}
	if operation != create && object.GetName() == "" {
		return nil, apierrors.NewBadRequest("object: metadata.name must be set for the operation " + operation)
	}
	if asked.User != "" {
		ctx = request.WithUser(ctx, &user.DefaultInfo{Name: asked.User, Groups: groupsOf(asked)})
	}
	if operation == update && object.GetResourceVersion() == "" {
		current, err := e.get(ctx, resource.path(object.GetName(), ""))
		if err != nil {
			return nil, e.absent(ctx, err, resource, "the operation UPDATE is for an object that exists")
		}
		object.SetResourceVersion(current.GetResourceVersion())
	}
	name := object.GetName()
	if operation == create {
		name = ""
	}
	body, err := object.MarshalJSON()
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("object: %v", err))
	}
	if operation == remove || operation == connect {
		body = nil
	}
	recording := e.Recorder.Evaluate(trace.Request{DryRun: asked.DryRun})
	response, err := e.do(recorder.Within(ctx, &recorder.Scope{Recording: recording}), method, resource.path(name, asked.Subresource), parametersOf(operation), body, func(req *http.Request, info *request.RequestInfo) error {
		described := requested(req, info)
		described.Name = object.GetName()
		recording.Update(func(r *trace.Request) {
			described.DryRun, described.Admissions = r.DryRun, r.Admissions
			*r = described
		})
		if asked.User == "" {
			return nil // the client may ask about a request that it has no permission for
		}
		return e.authorize(request.WithRequestInfo(req.Context(), info))
	})
	if refused := errorOf(err); apierrors.IsForbidden(err) {
		recording.Forbid(refused)
		return recording.Finished(), nil
	}
	if err != nil {
		return nil, err
	}
	failure := failureOf(response.code, response.body.Bytes(), e.Decoder)
	if operation == connect && recording.Admitted() {
		// To end the request after admission, the server refuses the connection. This refusal isn't an answer of
		// admission, so the trace must not show it.
		response.code, failure = http.StatusOK, nil
	}
	recording.Answered(response.code, failure)
	evaluated := recording.Finished()
	if len(evaluated.Admissions) == 0 && failure != nil {
		if err := e.unserved(resource, asked.Subresource, object); err != nil && failure.Code == http.StatusNotFound {
			return nil, err
		}
		failure.Message = "the request would not reach admission: " + failure.Message
		return nil, statusOf(failure)
	}
	if len(evaluated.Admissions) == 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the request would not reach admission of this server: another server, which an APIService names, serves %s", resource.GroupVersionResource.GroupVersion()))
	}
	return evaluated, nil
}

// groupsOf returns the groups of an evaluation's user. Every authenticated user is also in the group
// system:authenticated.
func groupsOf(e Evaluation) []string {
	if slices.Contains(e.Groups, user.AllAuthenticated) || e.User == user.Anonymous {
		return e.Groups
	}
	return append(slices.Clone(e.Groups), user.AllAuthenticated)
}

// resource is the resource of a request. The namespace is "" if the resource isn't namespaced.
type resource struct {
	schema.GroupVersionResource
	namespace string
}

// path returns the path of the object with the name, or of the object's subresource. If the name is empty, it returns the
// path of the resource.
func (r resource) path(name, subresource string) string {
	return resources.Path(r.GroupVersionResource, r.namespace, name, subresource)
}

func (e *evaluator) resourceOf(object *unstructured.Unstructured) (resource, error) {
	kind := object.GroupVersionKind()
	mapping, err := e.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return resource{}, apierrors.NewBadRequest(fmt.Sprintf("object: %v", err))
	}
	r := resource{GroupVersionResource: mapping.Resource}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		r.namespace = cmp.Or(object.GetNamespace(), metav1.NamespaceDefault)
	}
	// Set the namespace "default" if the client has set none. For a resource without namespaces, remove a namespace
	// that the client has set by mistake.
	object.SetNamespace(r.namespace)
	return r, nil
}

// stored returns an Evaluation of the creation of an object that is already stored.
func (e *evaluator) stored(ctx context.Context, filter recorder.Filter) (Evaluation, error) {
	plain, _, _ := strings.Cut(filter.Resource, "/")
	asked := schema.ParseGroupResource(plain)
	found, err := e.Mapper.ResourceFor(asked.WithVersion(""))
	if err != nil {
		return Evaluation{}, statusOf(&trace.Error{
			Code: http.StatusNotFound, Reason: string(metav1.StatusReasonNotFound),
			Message: fmt.Sprintf("the server has no resource %q", asked),
		})
	}
	from := resource{found, filter.Namespace}
	object, err := e.get(ctx, from.path(filter.Name, ""))
	if err != nil {
		return Evaluation{}, e.absent(ctx, err, from, "")
	}
	object.SetResourceVersion("")
	object.SetUID("")
	object.SetManagedFields(nil)
	encoded, err := object.MarshalJSON()
	if err != nil {
		return Evaluation{}, apierrors.NewInternalError(err)
	}
	return Evaluation{Object: encoded}, nil
}

// absent adds the namespace to an error "not found" about an object. A reason, which may be empty, precedes the error.
// An error that isn't "not found" stays unchanged.
func (e *evaluator) absent(ctx context.Context, err error, from resource, reason string) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	failure := errorOf(err)
	if reason != "" {
		failure.Message = reason + ": " + failure.Message
	}
	if from.namespace == "" {
		return statusOf(failure)
	}
	failure.Message += fmt.Sprintf(" in namespace %q", from.namespace)
	namespaces := resource{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("namespaces")}
	if _, err := e.get(ctx, namespaces.path(from.namespace, "")); apierrors.IsNotFound(err) {
		failure.Message += ", which doesn't exist"
	}
	return statusOf(failure)
}

// unserved returns an error if the server doesn't serve the resource or the subresource of an evaluation. The API itself
// answers such a request without saying which of the two is missing.
func (e *evaluator) unserved(of resource, subresource string, object *unstructured.Unstructured) error {
	list, err := e.Discovery.ServerResourcesForGroupVersion(of.GroupVersion().String())
	if err != nil {
		return nil // the answer of the API is all that is known
	}
	exists, subresources := false, []string{}
	for _, each := range sorted([]*metav1.APIResourceList{list}) {
		switch {
		case each.Resource != of.Resource:
		case each.Subresource == subresource:
			return nil
		case each.Subresource == "":
			exists = true
		default:
			subresources = append(subresources, each.Subresource)
		}
	}
	if !exists {
		return apierrors.NewBadRequest(fmt.Sprintf("object: the server has no resource for objects of the kind %s in %s", object.GetKind(), object.GetAPIVersion()))
	}
	if len(subresources) == 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("subresource %q: %s has no subresources", subresource, of.GroupResource()))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("subresource %q: must be a subresource of %s: %s", subresource, of.GroupResource(), strings.Join(subresources, ", ")))
}

// parametersOf returns the query parameters that prevent a change of stored objects. The operation CONNECT needs no
// parameters, because the server ends the request after admission.
func parametersOf(operation string) url.Values {
	if operation == connect {
		return nil
	}
	return url.Values{"dryRun": {metav1.DryRunAll}}
}

// authorize returns an error if authorization refuses the request of a context.
func (e *evaluator) authorize(ctx context.Context) error {
	a, err := filters.GetAuthorizerAttributes(ctx)
	if err != nil {
		return err
	}
	decision, reason, err := e.Authorizer.Authorize(ctx, a)
	if decision == authorizer.DecisionAllow {
		return nil
	}
	if err != nil {
		return err
	}
	return responsewriters.ForbiddenStatusError(a, reason)
}
