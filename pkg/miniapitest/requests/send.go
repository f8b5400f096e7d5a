package requests

import (
	"context"
	"fmt"
	"k8s.io/apimachinery/pkg/util/json"
	"net/url"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace/resources"
)

// applies tells whether the request is a server-side apply.
func (r Request) applies() bool { return r.Patch != nil && r.Patch.Type == types.ApplyPatchType }

// Response is the server's response to a request.
type Response struct {
	// Object is the body of a successful response, in JSON.
	Object *unstructured.Unstructured
	// Err is the server's error, such as the refusal of a webhook, or nil.
	Err error
	// Warnings are the warnings in the response.
	Warnings []string
}

// Make makes the request.
func (m *Maker) Make(ctx context.Context) Response {
	object := &unstructured.Unstructured{}
	err := m.make(ctx, object)
	return Response{Object: object, Err: err, Warnings: m.warnings.texts()}
}

func (m *Maker) make(ctx context.Context, into *unstructured.Unstructured) error {
	request := call{client: m.user, path: m.object(), query: m.Options.query(), auditID: m.AuditID}
	switch {
	case m.Patch != nil:
		request.verb, request.content = "PATCH", string(m.Patch.Type)
		request.encoded = m.Patch.Body
	case m.Operation == admissionv1.Create:
		request.verb, request.body = "POST", m.Objects[0]
		if m.at.Subresource == "" {
			request.path = m.path(m.at)
		}
	case m.Operation == admissionv1.Update:
		body, err := m.updated(ctx)
		if err != nil {
			return err
		}
		request.verb, request.body = "PUT", body
	case m.Operation == admissionv1.Delete:
		return m.delete(ctx, into)
	default:
		return m.connect(ctx)
	}
	return send(ctx, request, into)
}

// delete deletes the object, or its collection.
func (m *Maker) delete(ctx context.Context, into *unstructured.Unstructured) error {
	request := call{client: m.user, verb: "DELETE", path: m.object(), auditID: m.AuditID}
	if m.Collection {
		request.path = m.path(m.at)
	}
	live := &unstructured.Unstructured{}
	if m.Options.Preconditions {
		if err := send(ctx, call{client: m.admin, verb: "GET", path: m.object()}, live); err != nil {
			return err
		}
	}
	var err error
	if request.encoded, err = json.Marshal(m.Options.deletion(live.GetUID(), live.GetResourceVersion())); err != nil {
		return err
	}
	return send(ctx, request, into)
}

// connect makes a CONNECT request for the object. If the request's object has options of the connection, such as
// PodExecOptions, the options become parameters of the request.
func (m *Maker) connect(ctx context.Context) error {
	options := map[string]map[string]any{"exec": {"stdout": true, "command": "true"}, "attach": {"stdout": true}}[m.at.Subresource]
	if len(m.Objects) > 0 && m.Objects[0].GetKind() == m.at.Kind.Kind {
		options = m.Objects[0].Object
	}
	request := call{client: m.user, verb: "POST", path: m.object(), query: url.Values{}, auditID: m.AuditID}
	for name, value := range options {
		switch name {
		case "apiVersion", "kind", "metadata":
			continue
		case "path":
			request.path += "/" + strings.TrimPrefix(fmt.Sprint(value), "/")
			continue
		}
		values, ok := value.([]any)
		if !ok {
			values = []any{value}
		}
		for _, v := range values {
			request.query.Add(name, fmt.Sprint(v))
		}
	}
	return send(ctx, request, nil)
}

// updated returns the body of an update. With Options.Replace, the body lacks the metadata that the server has set.
// Otherwise, the body has this metadata of the stored object. If the kind of the subresource differs from the kind of
// the object, as for scale, the body is the stored subresource with the object's replicas.
func (m *Maker) updated(ctx context.Context) (*unstructured.Unstructured, error) {
	live, at := &unstructured.Unstructured{}, m.object()
	if !m.readable() { // such as the subresource finalize of a namespace
		at = m.path(m.at, m.name)
	}
	if err := send(ctx, call{client: m.admin, verb: "GET", path: at}, live); err != nil {
		return nil, err
	}
	body := m.Objects[0].DeepCopy()
	if body.GetKind() != live.GetKind() {
		replicas, found, err := unstructured.NestedFieldCopy(body.Object, "spec", "replicas")
		if err != nil || !found {
			return nil, unfit("{object}: an update of %s takes a %s, or an object with spec.replicas, got a %s", m.at, live.GetKind(), body.GetKind())
		}
		return live, unstructured.SetNestedField(live.Object, replicas, "spec", "replicas")
	}
	body.SetName(live.GetName())
	body.SetNamespace(live.GetNamespace())
	if m.Options.Replace {
		return body, nil
	}
	body.SetResourceVersion(live.GetResourceVersion())
	body.SetUID(live.GetUID())
	body.SetCreationTimestamp(live.GetCreationTimestamp())
	body.SetGeneration(live.GetGeneration())
	return body, nil
}

// Admin makes a request of the admin for the resource in another version, or for an object or a subresource of it, with
// the elements of its path.
func (m *Maker) Admin(ctx context.Context, verb string, of resources.Resource, elements []string, query url.Values, body *unstructured.Unstructured) error {
	return send(ctx, call{client: m.admin, verb: verb, path: m.path(of, elements...), query: query, body: body}, nil)
}

type call struct {
	client     rest.Interface
	verb, path string
	query      url.Values
	// body is the object that the call sends. If body is nil, the call sends the bytes in encoded. content is the media
	// type of the sent data; "" stands for JSON.
	body    *unstructured.Unstructured
	encoded []byte
	content string
	// auditID, if set, is the id of the request in the audit log.
	auditID string
}

// send makes a call of the API. If into isn't nil, send decodes the response into it.
func send(ctx context.Context, c call, into *unstructured.Unstructured) error {
	request := c.client.Verb(c.verb).AbsPath(c.path)
	for name, values := range c.query {
		for _, value := range values {
			request.Param(name, value)
		}
	}
	if c.auditID != "" {
		request.SetHeader(auditIDHeader, c.auditID)
	}
	if c.body != nil {
		var err error
		if c.encoded, err = json.Marshal(c.body); err != nil {
			return err
		}
	}
	if c.encoded != nil {
		if c.content == "" {
			c.content = "application/json"
		}
		request.SetHeader("Content-Type", c.content).Body(c.encoded)
	}
	result := request.Do(ctx)
	if err := result.Error(); err != nil { // Error has the server's message, and the error of Raw lacks the message
		return err
	}
	answer, err := result.Raw()
	if err != nil || into == nil {
		return err
	}
	into.Object = nil
	return json.Unmarshal(answer, &into.Object)
}

// auditIDHeader is the header with which a client names its request in the audit log.
const auditIDHeader = "Audit-Id"
