package hookclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
)

// Call is a call of a hook by its name, with JSON in place of Go types. It is for a caller that gets the name of
// the hook at run time, such as a command line.
type Call struct {
	// Hook is the name of a hook, as GROUP/VERSION/HOOK or as HOOK. HOOK alone stands for the newest version.
	Hook string `json:"hook"`
	// Handler is the name of a handler, HANDLER.CONFIG. If it is "", all handlers of the hook are called.
	Handler string `json:"handler,omitempty"`
	// Object is the request, or the object for which the hook is called. It is the request if it has the kind of
	// the hook's requests. Otherwise it becomes a field of the request, named after its kind: a Cluster becomes the
	// field cluster.
	Object json.RawMessage `json:"object,omitempty"`
	// Namespace is the namespace of the object for which the hook is called. The namespace determines which
	// extensions are called. The default is the namespace of Object. If Object is a request, the default is the
	// namespace of the first object in the request that has a namespace.
	Namespace string `json:"namespace,omitempty"`
	// Fields are further fields of the request.
	Fields map[string]json.RawMessage `json:"fields,omitempty"`
	// Settings are sent to each handler. If an ExtensionConfig has a setting with the same key, the value of the
	// Call counts.
	Settings map[string]string `json:"settings,omitempty"`
}

// Result has the answers of the handlers that a Call has called, and the common response.
type Result struct {
	// Hook is the hook that was called, in the form GROUP/VERSION/HOOK.
	Hook string `json:"hook"`
	// Answers are the answers of the handlers, in the order of the calls.
	Answers []Answer `json:"answers"`
	// Response is the common response, made of all answers. It is nil if the call has failed.
	Response json.RawMessage `json:"response,omitempty"`
	// Error says why the call has failed.
	Error string `json:"error,omitempty"`
}

// Answer is the answer of one handler.
type Answer struct {
	Handler  string        `json:"handler"`
	Duration time.Duration `json:"duration"`
	// Response is the response of the handler. It is nil if Error isn't empty.
	Response json.RawMessage `json:"response,omitempty"`
	// Error says why the call of the handler has failed. Ignored is the error that the failure policy Ignore has
	// hidden.
	Error   string `json:"error,omitempty"`
	Ignored string `json:"ignored,omitempty"`
	// Warnings are the Warning headers of the response.
	Warnings []string `json:"warnings,omitempty"`
}

// Do makes a call. It returns an error if the catalog doesn't have the hook, if the request can't be made, if the
// client has no registry, or if the registry isn't ready. In these cases, it has called no handler. Other errors, such
// as errors of handlers, are in the Result.
func (c *Client) Do(ctx context.Context, call Call) (*Result, error) {
	d, err := c.options.Catalog.Find(call.Hook)
	if err != nil {
		return nil, err
	}
	request, object, err := requestOf(d, call)
	if err != nil {
		return nil, err
	}
	handlers, err := c.registry()
	if err != nil {
		return nil, err
	}
	if _, err := handlers.List(d.GroupHook()); err != nil {
		return nil, err
	}
	result := &Result{Hook: d.String(), Answers: []Answer{}}
	observe := WithObserver(func(o Outcome) { result.Answers = append(result.Answers, answerOf(o)) })
	response := d.NewResponse().(hooksv1.ResponseObject)
	if call.Handler == "" {
		err = c.CallAll(ctx, d.Func, object, request, response, observe)
	} else {
		err = c.CallExtension(ctx, d.Func, object, call.Handler, request, response, observe)
	}
	if err != nil {
		result.Error = err.Error()
		return result, nil
	}
	result.Response, err = json.Marshal(response)
	return result, err
}

func answerOf(o Outcome) Answer {
	answer := Answer{Handler: o.Handler, Duration: o.Duration, Warnings: o.Warnings}
	if o.Ignored != nil {
		answer.Ignored = o.Ignored.Error()
	}
	if o.Err != nil {
		answer.Error = o.Err.Error()
		return answer
	}
	answer.Response, _ = json.Marshal(o.Response) // the error is impossible: the response was decoded from JSON
	return answer
}

// requestOf makes the request of a call, and returns the metadata of the object for which the hook is called.
func requestOf(d *catalog.Descriptor, call Call) (hooksv1.RequestObject, metav1.Object, error) {
	request, is := d.NewRequest().(hooksv1.RequestObject)
	if !is {
		return nil, nil, fmt.Errorf("hook %s can't be called for an object: the request type %s of the hook doesn't implement RequestObject", d, d.Request.Kind)
	}
	fields := maps.Clone(call.Fields)
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	about := metadataOf(call.Object)
	if object := call.Object; len(object) > 0 {
		var typed metav1.TypeMeta
		if err := json.Unmarshal(object, &typed); err != nil {
			return nil, nil, fmt.Errorf("the object of the call of hook %s must be a JSON object whose apiVersion and kind are strings: %w", d, err)
		}
		switch typed.Kind {
		case d.Request.Kind:
			if err := json.Unmarshal(object, request); err != nil {
				return nil, nil, fmt.Errorf("the object of the call of hook %s must be a request of the kind %s: %w", d, d.Request.Kind, err)
			}
			about = metadataIn(object)
		case "":
			return nil, nil, fmt.Errorf("the object of the call of hook %s must have a kind: %s for a whole request, or the kind of the object, such as Cluster", d, d.Request.Kind)
		default:
			fields[strings.ToLower(typed.Kind[:1])+typed.Kind[1:]] = object
		}
	}
	if len(fields) > 0 {
		data, err := json.Marshal(fields)
		if err != nil {
			return nil, nil, err
		}
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(request); err != nil {
			return nil, nil, fmt.Errorf("the object and the fields of the call of hook %s must be fields of a %s, with values of their types: %w", d, d.Request.Kind, err)
		}
	}
	if call.Settings != nil {
		request.SetSettings(call.Settings)
	}
	about.Namespace = cmp.Or(call.Namespace, about.Namespace)
	return request, about, nil
}

// metadataIn returns the name and the namespace of the first namespaced object in a request. It visits fields in
// the order of their names. If the request has no namespaced object, the metadata is empty.
func metadataIn(request json.RawMessage) *metav1.ObjectMeta {
	var fields any
	if json.Unmarshal(request, &fields) == nil {
		if found := find(fields); found != nil {
			return found
		}
	}
	return &metav1.ObjectMeta{}
}

func find(value any) *metav1.ObjectMeta {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if found := find(item); found != nil {
				return found
			}
		}
	case map[string]any:
		metadata, _ := v["metadata"].(map[string]any)
		if namespace, _ := metadata["namespace"].(string); namespace != "" {
			name, _ := metadata["name"].(string)
			return &metav1.ObjectMeta{Namespace: namespace, Name: name}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if found := find(v[name]); found != nil {
				return found
			}
		}
	}
	return nil
}

// metadataOf returns the metadata of an object in JSON. It is empty if the value isn't an object.
func metadataOf(object json.RawMessage) *metav1.ObjectMeta {
	var partial metav1.PartialObjectMetadata
	if len(object) == 0 || json.Unmarshal(object, &partial) != nil {
		return &metav1.ObjectMeta{}
	}
	return &metav1.ObjectMeta{Namespace: partial.Namespace, Name: partial.Name}
}
