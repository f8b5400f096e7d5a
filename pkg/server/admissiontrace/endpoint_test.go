package admissiontrace

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// traceOf returns a Trace that has recorded the requests. Its mapper knows the resources pods and namespaces.
func traceOf(t *testing.T, limits recorder.Limits, requests ...trace.Request) *Trace {
	t.Helper()
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, meta.RESTScopeRoot)
	d := New(Config{Recorder: recorder.New(limits), Serializer: serializer.NewCodecFactory(scheme), Mapper: mapper})
	for _, request := range requests {
		recording := d.Recorder.Begin(request)
		recording.Enter(&recorder.Pass{Admission: trace.Admission{Operation: "CREATE", Namespace: request.Namespace, Name: request.Name}})
		recording.Finish()
	}
	return d
}

func created(resource, namespace, name, user string) trace.Request {
	return trace.Request{Verb: "create", Resource: trace.Resource{Version: "v1", Resource: resource}, Namespace: namespace, Name: name, User: trace.User{Name: user}}
}

// TestRequests checks that some query parameters select recorded requests, and that the parameter output selects the
// form of the answer.
func TestRequests(t *testing.T) {
	t.Parallel()
	d := traceOf(t, recorder.Limits{Requests: 10}, created("pods", "a", "web", "ann"), created("pods", "b", "web", "bob"), created("namespaces", "", "a", "ann"), created("pods", "a", "db", "bob"))
	for _, test := range []struct {
		name, reason, query string
		code                int
		// want has the names of the selected requests, or a part of the error.
		want string
	}{
		{"all", "without parameters, all requests are listed", "", 200, "web web a db"},
		{"resource", "the parameter resource selects requests for the resource", "resource=pods", 200, "web web db"},
		{"kind", "the parameter resource may be a kind", "resource=Pod", 200, "web web db"},
		{"namespace", "the object is in the namespace", "resource=pods&namespace=a", 200, "web db"},
		{"namespace of a namespace", "only the first value of a parameter counts, and no resource has the name ns",
			"resource=ns&namespace=a&resource=namespaces", 200, ""},
		{"cluster scope", "the parameter namespace doesn't matter for resources without namespaces",
			"resource=namespaces&namespace=default", 200, "a"},
		{"name", "several resources may have the name", "name=web", 200, "web web"},
		{"user", "the user made the request", "user=bob", 200, "web db"},
		{"limit", "the limit selects the last requests", "limit=2", 200, "a db"},
		{"no limit", "a limit is a number", "limit=x", 400, `limit=\"x\": must be a number from 1`},
		{"zero", "a limit of none makes no sense", "limit=0", 400, `limit=\"0\": must be a number from 1`},
		{"output", "the formats are known", "output=xml", 400, `output=\"xml\": must be json, text or wide`},
		{"text", "the format for people", "output=text&name=db", 200, "CREATE of pods a/db by bob"},
	} {
		w := httptest.NewRecorder()
		d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, RequestsPath+"?"+test.query, http.NoBody))
		var list List
		var names []string
		if json.Unmarshal(w.Body.Bytes(), &list) == nil {
			for _, request := range list.Requests {
				names = append(names, request.Name)
			}
		}
		right := strings.Join(names, " ") == test.want || names == nil && strings.Contains(w.Body.String(), test.want)
		if w.Code != test.code || !right {
			t.Errorf("%s: %s: want status %d and %q, got %d and %q: %s", test.name, test.reason, test.code, test.want, w.Code, names, w.Body)
		}
	}
}

// TestRefusedCreation checks which recorded request refusedCreation returns for an object that isn't stored.
func TestRefusedCreation(t *testing.T) {
	t.Parallel()
	refused := func(verb, resource, namespace, name, user string) trace.Request {
		return trace.Request{
			Verb: verb, Resource: trace.Resource{Version: "v1", Resource: resource}, Namespace: namespace, Name: name,
			User: trace.User{Name: user}, Forbidden: true,
		}
	}
	for _, test := range []struct {
		name, reason string
		requests     []trace.Request
		// want is the user of the request that refusedCreation returns, or "" for no request.
		want string
	}{
		{"none", "no request is recorded", nil, ""},
		{"create", "authorization refused the creation of an object whose name it didn't see",
			[]trace.Request{refused("create", "pods", "a", "", "ann")}, "ann"},
		{"last", "the last request is the one that the user asks about",
			[]trace.Request{refused("create", "pods", "a", "", "ann"), refused("create", "pods", "a", "", "bob")},
			"bob"},
		{"collection", "the deletion of a collection creates no object",
			[]trace.Request{refused("create", "pods", "a", "", "ann"), refused("deletecollection", "pods", "a", "", "bob")},
			"ann"},
		{"collection alone", "the deletion of a collection creates no object",
			[]trace.Request{refused("deletecollection", "pods", "a", "", "bob")}, ""},
		{"other object", "the request is for another object", []trace.Request{refused("create", "pods", "a", "db", "ann")}, ""},
		{"other namespace", "the request is for another namespace", []trace.Request{refused("create", "pods", "b", "", "ann")}, ""},
		{"other resource", "the request is for another resource", []trace.Request{refused("create", "namespaces", "a", "", "ann")}, ""},
		{"allowed", "authorization didn't refuse the request", []trace.Request{created("pods", "a", "", "ann")}, ""},
	} {
		d := traceOf(t, recorder.Limits{Requests: 10}, test.requests...)
		found := d.refusedCreation(recorder.Filter{Resource: "pods", Namespace: "a", Name: "web", Writes: true, Last: 1})
		var got string
		if found != nil {
			got = found.User.Name
		}
		if got != test.want {
			t.Errorf("%s: %s: want the request of %q, got the request of %q", test.name, test.reason, test.want, got)
		}
	}
}

// TestUnservedPaths checks that the error for an unknown path or method names the paths and methods
// that are served.
func TestUnservedPaths(t *testing.T) {
	t.Parallel()
	d := traceOf(t, recorder.Limits{})
	for _, target := range []struct{ method, path string }{{http.MethodGet, Prefix + "other"}, {http.MethodDelete, RequestsPath}} {
		w := httptest.NewRecorder()
		d.ServeHTTP(w, httptest.NewRequest(target.method, target.path, http.NoBody))
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), target.method+" "+target.path+" isn't served: the server serves GET "+Prefix+", GET "+RequestsPath) {
			t.Errorf("%s %s: want 404 with the paths, got %d: %s", target.method, target.path, w.Code, w.Body)
		}
	}
}

// TestWrongEvaluations checks that an evaluation with a mistake is refused, and that the error names the mistake.
func TestWrongEvaluations(t *testing.T) {
	t.Parallel()
	d := traceOf(t, recorder.Limits{})
	for _, test := range []struct{ name, reason, body, want string }{
		{"empty", "an evaluation is an object", "", "the body must be an Evaluation: EOF"},
		{"misspelt field", "the evaluation would silently be of a creation", `{"opration":"UPDATE"}`,
			`the body must be an Evaluation: json: unknown field "opration"`},
		{"groups alone", "the groups would silently be ignored", `{"groups":["a"],"object":{}}`,
			"groups: are the groups of a user, so user must be set"},
		{"no object", "the object names the resource", `{"webhook":"ValidatingWebhookConfiguration/a"}`,
			"object: must be the object of the request"},
		{"no webhook", "the error names the field and the forms that are right", `{"webhook":"a","object":{}}`,
			`webhook "a": must be MutatingWebhookConfiguration/NAME`},
	} {
		w := httptest.NewRecorder()
		d.ServeHTTP(w, httptest.NewRequest(http.MethodPost, WhyPath, strings.NewReader(test.body)))
		var status metav1.Status
		if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil || w.Code != http.StatusBadRequest || !strings.Contains(status.Message, test.want) {
			t.Errorf("%s: %s: want 400 with %q, got %d with %q, %v", test.name, test.reason, test.want, w.Code, status.Message, err)
		}
	}
}

// TestEvaluationWithoutAdmission checks that an evaluation is refused if another server has answered the request, so that
// admission of this server didn't get the request.
func TestEvaluationWithoutAdmission(t *testing.T) {
	t.Parallel()
	d := traceOf(t, recorder.Limits{})
	d.evaluator.RequestInfo = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	d.Evaluate(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }))
	got, err := d.evaluator.evaluate(t.Context(), Evaluation{Object: []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`)})
	const want = "the request would not reach admission of this server"
	if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("want a bad request with %q, got %+v, %v", want, got, err)
	}
}

func TestTargetOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]trace.Reference{
		"MutatingWebhookConfiguration/a":     {Kind: trace.MutatingConfiguration, Name: "a"},
		"ValidatingWebhookConfiguration/a/b": {Kind: trace.ValidatingConfiguration, Name: "a", Part: "b"},
		"ValidatingAdmissionPolicy/a":        {Kind: trace.ValidatingPolicy, Name: "a"},
		"MutatingAdmissionPolicy/a":          {Kind: trace.MutatingPolicy, Name: "a"},
		"ValidatingAdmissionPolicyBinding/a": {},
		// kubectl accepts the kinds of the next three lines.
		"validatingwebhookconfiguration.admissionregistration.k8s.io/a": {Kind: trace.ValidatingConfiguration, Name: "a"},
		"mutatingwebhookconfigurations/a":                               {Kind: trace.MutatingConfiguration, Name: "a"},
		"validatingadmissionpolicies/a/b":                               {Kind: trace.ValidatingPolicy, Name: "a", Part: "b"},
		"MutatingWebhookConfiguration/":                                 {},
		"a":                                                             {},
		"":                                                              {},
	} {
		got, err := targetOf(text)
		if (err != nil) != (want == trace.Reference{}) || err == nil && got != want {
			t.Errorf("%q: want %+v, got %+v, %v", text, want, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), "must be MutatingWebhookConfiguration/NAME or ValidatingWebhookConfiguration/NAME") {
			t.Errorf("%q: want an error with the form, got %v", text, err)
		}
	}
}

// TestValidateOptions checks that the errors of options name the flags.
func TestValidateOptions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		change       func(*Options)
		want         string
	}{
		{"defaults", "a server needs no flag", func(*Options) {}, ""},
		{"requests", "there is no negative number of requests", func(o *Options) { o.Requests = -1 },
			"--trace-requests -1: must be at least 0"},
		{"bytes", "requests need memory", func(o *Options) { o.Bytes = 0 }, "--trace-bytes 0: must be more than 0"},
		{"secrets", "a server that remembers no requests has no secrets to remember",
			func(o *Options) { o.Secrets = true }, "--trace-secrets: give --trace-requests too"},
		{"branches", "a server that remembers no requests has no branches to remember",
			func(o *Options) { o.Branches = true }, "--trace-branches: give --trace-requests too"},
		{"secrets with denials", "with ExplainDenials, the server remembers requests",
			func(o *Options) { o.Secrets, o.ExplainDenials = true, true }, ""},
	} {
		o := NewOptions()
		test.change(o)
		errs := o.Validate()
		if len(errs) == 0 != (test.want == "") || len(errs) > 0 && !strings.HasPrefix(errs[0].Error(), test.want) {
			t.Errorf("%s: %s: want %q, got %v", test.name, test.reason, test.want, errs)
		}
	}
	o := NewOptions()
	if o.ExplainDenials = true; !o.Recorder().Keeps() {
		t.Error("want requests to be remembered for explained denials")
	}
}
