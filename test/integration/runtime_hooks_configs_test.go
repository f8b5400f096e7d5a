package integration_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
)

// Both versions of an ExtensionConfig show the same object, each with its own fields.
func TestExtensionConfigVersions(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	older := schema.GroupVersionResource{Group: "runtime.cluster.x-k8s.io", Version: "v1alpha1", Resource: "extensionconfigs"}
	config := extensionConfig(t, "a", `{clientConfig: {service: {namespace: ns, name: s}}}`)
	config.SetAPIVersion("runtime.cluster.x-k8s.io/v1alpha1")
	must(srv.DynamicClient().Resource(older).Create(t.Context(), config, metav1.CreateOptions{}))(t)
	got := awaitDiscovered(t, srv, "a", metav1.ConditionFalse, "")
	if got.Spec.ClientConfig.Service.Name != "s" || got.Spec.NamespaceSelector == nil {
		t.Errorf("v1beta2 is %+v", got.Spec)
	}
	was := must(srv.DynamicClient().Resource(older).Get(t.Context(), "a", metav1.GetOptions{}))(t)
	legacy, _, _ := unstructured.NestedSlice(was.Object, "status", "conditions")
	conditions, _, _ := unstructured.NestedSlice(was.Object, "status", "v1beta2", "conditions")
	if len(legacy) != 1 || legacy[0].(map[string]any)["severity"] != "Error" || len(conditions) != 2 {
		t.Errorf("v1alpha1 has conditions %v and %v", legacy, conditions)
	}
	list := must(srv.DynamicClient().Resource(older).List(t.Context(), metav1.ListOptions{}))(t)
	if len(list.Items) != 1 || list.Items[0].GetAPIVersion() != "runtime.cluster.x-k8s.io/v1alpha1" {
		t.Errorf("the list has %v", list.Items)
	}
}

func TestExtensionConfigValidation(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	configs := srv.DynamicClient().Resource(runtimev1.Resource())
	for _, test := range []struct{ name, reason, config, spec, want string }{
		{name: "url", reason: "a prefix is allowed", spec: `{clientConfig: {url: "https://a.example:8443/prefix"}}`},
		{name: "service", reason: "the port has a default", spec: `{clientConfig: {service: {namespace: ns, name: s, path: /a/b.c/}}}`},
		{name: "selector", reason: "all operators are known",
			spec: `{clientConfig: {url: "https://a"}, namespaceSelector: {matchLabels: {a.example/b: c}, matchExpressions: [{key: a, operator: In, values: [b]}, {key: a, operator: Exists}]}}`},
		{name: "no clientConfig", reason: "without a clientConfig, the extension has no address",
			spec: `{settings: {a: b}}`, want: "spec.clientConfig: Required value"},
		{name: "neither", reason: "without url and service, the extension has no address",
			spec: `{clientConfig: {caBundle: YQ==}}`, want: "exactly one of url or service is required"},
		{name: "both", reason: "the server would have to ignore the url or the service",
			spec: `{clientConfig: {url: "https://a", service: {namespace: ns, name: s}}}`,
			want: "exactly one of url or service is required"},
		{name: "http", reason: "extensions are called by HTTPS", spec: `{clientConfig: {url: "http://a"}}`,
			want: "'https' is the only allowed URL scheme"},
		{name: "no URL", reason: "the URL doesn't parse", spec: `{clientConfig: {url: "a.example"}}`, want: "must be a valid URL"},
		{name: "no host", reason: "a URL without a host has no address", spec: `{clientConfig: {url: "https:///a"}}`,
			want: "host must be specified"},
		{name: "user", reason: "credentials don't belong into a URL", spec: `{clientConfig: {url: "https://a:b@c"}}`,
			want: "user information is not permitted"},
		{name: "fragment", reason: "a fragment isn't sent", spec: `{clientConfig: {url: "https://a/#b"}}`,
			want: "fragments are not permitted"},
		{name: "query", reason: "the server sets the query", spec: `{clientConfig: {url: "https://a/?b=c"}}`,
			want: "query parameters are not permitted"},
		{name: "service without name", reason: "a service reference has a namespace and a name",
			spec: `{clientConfig: {service: {namespace: ns}}}`, want: "spec.clientConfig.service.name: Required value"},
		{name: "service without namespace", reason: "a service reference has a namespace and a name",
			spec: `{clientConfig: {service: {name: s}}}`, want: "spec.clientConfig.service.namespace: Required value"},
		{name: "service name", reason: "a service's name is a label",
			spec: `{clientConfig: {service: {namespace: ns, name: A_b}}}`,
			want: "spec.clientConfig.service.name: Invalid value"},
		{name: "port", reason: "ports end at 65535",
			spec: `{clientConfig: {service: {namespace: ns, name: s, port: 65536}}}`,
			want: "spec.clientConfig.service.port: Invalid value"},
		{name: "path", reason: "a path begins with a slash",
			spec: `{clientConfig: {service: {namespace: ns, name: s, path: a/}}}`, want: "must start with a '/'"},
		{name: "path segment", reason: "a segment is a subdomain",
			spec: `{clientConfig: {service: {namespace: ns, name: s, path: /A}}}`,
			want: "each segment must be a DNS subdomain"},
		{name: "empty segment", reason: "a segment is a subdomain",
			spec: `{clientConfig: {service: {namespace: ns, name: s, path: /a//b}}}`,
			want: "a segment may not be empty"},
		{name: "caBundle", reason: "a caBundle is in base64", spec: `{clientConfig: {url: "https://a", caBundle: "%"}}`,
			want: "spec.clientConfig.caBundle"},
		{name: "operator", reason: "there are four operators",
			spec: `{clientConfig: {url: "https://a"}, namespaceSelector: {matchExpressions: [{key: a, operator: Near}]}}`,
			want: "Unsupported value"},
		{name: "values", reason: "In needs values",
			spec: `{clientConfig: {url: "https://a"}, namespaceSelector: {matchExpressions: [{key: a, operator: In}]}}`,
			want: "values are required"},
		{name: "no values", reason: "Exists takes no values",
			spec: `{clientConfig: {url: "https://a"}, namespaceSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}`,
			want: "values are required"},
		{name: "label key", reason: "a key is a qualified name",
			spec: `{clientConfig: {url: "https://a"}, namespaceSelector: {matchLabels: {"a b": c}}}`,
			want: "a key must be a label's"},
		{name: "label value", reason: "a value must be valid for a label",
			spec: `{clientConfig: {url: "https://a"}, namespaceSelector: {matchLabels: {a: "b c"}}}`,
			want: "spec.namespaceSelector.matchLabels"},
		{name: "dots in the name", reason: "the name is the second part of a handler's name, after a dot",
			config: "a.b", spec: `{clientConfig: {url: "https://a"}}`, want: "metadata.name must be a DNS label"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			name := test.config
			if name == "" {
				name = "a"
			}
			_, err := configs.Create(t.Context(), extensionConfig(t, name, test.spec), metav1.CreateOptions{DryRun: dry})
			switch {
			case test.want == "" && err != nil:
				t.Errorf("%v (%s)", err, test.reason)
			case test.want != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v lacks %q (%s)", err, test.want, test.reason)
			}
		})
	}
}

// A clientConfig is valid for an ExtensionConfig if and only if it is valid for an admission webhook.
func TestClientConfigsAreJudgedAsThoseOfWebhooks(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	hooks := srv.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configs := srv.DynamicClient().Resource(runtimev1.Resource())
	var cases []map[string]any
	for _, url := range []string{
		"https://a.example", "https://a.example:8443/prefix", "https://a.example/", "HTTPS://a.example", "https://A.EXAMPLE", "https://[::1]:443/a", "https://a/a%20b",
		"https://a/a//b", "https://a/a/../b", "https://a_b", "https://a/\u00fc", "https://a:99999", "https://a?", "https://a/a:b@c",
		"http://a.example", "a.example", "a.example:443", "//a.example", "/a", "https:", "https://", "https:///a", "https:a.example", "https://a b", "https://a/%zz", "https://a:port",
		"https://user@a.example", "https://user:password@a.example", "https://@a", "https://a#b", "https://a/b#", "https://a?b=c", "https://a/b?c", "ftp://a", "https://[::1", "https://a/\n",
	} {
		cases = append(cases, map[string]any{"url": url})
	}
	for _, path := range []string{
		"/", "/a", "/a/", "/a/b.c", "/a-b/1", "/a.b.c/d", "/" + strings.Repeat("a", 63) + "." + strings.Repeat("b", 63),
		"/" + strings.Repeat("a", 64), "/" + strings.Repeat("a.", 126) + "a",
		"/" + strings.Repeat("a.", 126) + "ab", "a", "//", "//a", "/a//b", "/a//", "/A", "/a_b", "/-a", "/a-", "/a.", "/.a", "/a..b", "/a/../b", "/a%20b", "/a b", "/a?b", "/a#b",
	} {
		cases = append(cases, map[string]any{"service": map[string]any{"namespace": "ns", "name": "s", "path": path}})
	}
	for _, port := range []int64{-1, 0, 1, 443, 65535, 65536} {
		cases = append(cases, map[string]any{"service": map[string]any{"namespace": "ns", "name": "s", "port": port}})
	}
	cases = append(
		cases,
		map[string]any{},
		map[string]any{"caBundle": "YQ=="},
		map[string]any{"url": "https://a", "service": map[string]any{"namespace": "ns", "name": "s"}},
		map[string]any{"service": map[string]any{"namespace": "ns", "name": ""}},
		map[string]any{"service": map[string]any{"namespace": "", "name": "s"}},
	)
	for _, test := range cases {
		var typed admissionregistrationv1.WebhookClientConfig
		ok(t, runtime.DefaultUnstructuredConverter.FromUnstructured(test, &typed))
		judged := validating("hook", nil, at(typed))
		_, want := hooks.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: named("hook"), Webhooks: []admissionregistrationv1.ValidatingWebhook{judged.validating()},
		}, metav1.CreateOptions{DryRun: dry})
		config := extensionConfig(t, "a", "{}")
		ok(t, unstructured.SetNestedMap(config.Object, test, "spec", "clientConfig"))
		_, got := configs.Create(t.Context(), config, metav1.CreateOptions{DryRun: dry})
		if (want == nil) != (got == nil) || got != nil && !apierrors.IsInvalid(got) {
			t.Errorf("client config %v: a webhook is answered %v, and an ExtensionConfig %v", test, want, got)
		}
	}
}

func TestExtensionConfigIsShown(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	own, err := newAuthority()
	ok(t, err)
	registerExtension(t, srv, "a", own.pem, own.serve(t, discovering(t), "localhost"))
	awaitDiscovered(t, srv, "a", metav1.ConditionTrue, "")
	table := &metav1.Table{}
	raw := must(srv.Client().Discovery().RESTClient().Get().AbsPath("/apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context()))(t)
	ok(t, json.Unmarshal(raw, table))
	var columns []string
	for _, column := range table.ColumnDefinitions {
		columns = append(columns, column.Name)
	}
	if diff := cmp.Diff([]string{"Name", "Discovered", "Paused", "Age"}, columns); diff != "" {
		t.Errorf("columns (-want +got): %s", diff)
	}
	if cells := table.Rows[0].Cells; cells[1] != "True" || cells[2] != "False" {
		t.Errorf("cells are %v", cells)
	}
	resources := must(srv.Client().Discovery().ServerResourcesForGroupVersion("runtime.cluster.x-k8s.io/v1beta2"))(t)
	for _, resource := range resources.APIResources {
		if resource.Name == "extensionconfigs" && (resource.Namespaced || strings.Join(resource.ShortNames, "") != "ext" || strings.Join(resource.Categories, "") != "cluster-api") {
			t.Errorf("the resource is %+v", resource)
		}
	}
}

// An ExtensionConfig needs a spec in both versions. Without one, it could be stored in v1alpha1, but never changed.
func TestExtensionConfigNeedsSpec(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	for _, version := range []string{"v1alpha1", "v1beta2"} {
		configs := srv.DynamicClient().Resource(runtimev1.Resource().GroupResource().WithVersion(version))
		_, err := configs.Create(t.Context(), object(runtimev1.Group+"/"+version, "ExtensionConfig", "without-spec", nil), metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec: Required value") {
			t.Errorf("%s: want spec to be required, got %v", version, err)
		}
	}
}
