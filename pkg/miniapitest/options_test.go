package miniapitest_test

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/inprocess"
)

//go:embed testdata
var testdata embed.FS

// Objects come from files, globs, file systems and Go values. Definitions are first.
func TestObjects(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t,
		miniapitest.WithObjects(
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "typed"}},
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "typed", Name: "m"}, Data: map[string]string{"a": "b"}},
			widget("untyped"),
		),
		miniapitest.WithManifestsFS(testdata, "testdata/widgets/w*.yaml"),
		miniapitest.WithCRDs("testdata/widgets"),
	)
	if _, err := srv.Client().CoreV1().ConfigMaps("typed").Get(t.Context(), "m", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	list, err := srv.DynamicClient().Resource(widgets).Namespace("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.GetName())
	}
	if diff := cmp.Diff([]string{"doomed", "kept", "untyped"}, names); diff != "" {
		t.Errorf("widgets (-want +got):\n%s", diff)
	}
}

// A list of any type stands for its items.
func TestLists(t *testing.T) {
	t.Parallel()
	raw := runtime.RawExtension{Raw: []byte(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "raw"}}`)}
	unread := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMapList", "items": []any{
		map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "untyped"}},
	}}}
	srv := miniapitest.Start(t, miniapitest.WithObjects(
		&corev1.ConfigMapList{Items: []corev1.ConfigMap{*configMap("typed"), *configMap("typed2")}},
		&corev1.List{Items: []runtime.RawExtension{{Object: configMap("object")}, raw, {Object: &corev1.List{Items: []runtime.RawExtension{{Object: unread}}}}}},
		&corev1.SecretList{},
	))
	list, err := srv.Client().CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	if diff := cmp.Diff([]string{"object", "raw", "typed", "typed2", "untyped"}, names); diff != "" {
		t.Errorf("config maps (-want +got):\n%s", diff)
	}
}

// Apply needs the definition of a custom resource, and a running server.
func TestApply(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	const want = "WithCRDs, which installs definitions before everything else"
	if err := srv.Apply(t.Context(), "testdata/widgets/widgets.yaml"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want %q, got %v", want, err)
	}
	if err := srv.Apply(t.Context(), "testdata/widgets/crd.yaml", "testdata/widgets/widgets.yaml"); err != nil {
		t.Error(err)
	}
	if err := srv.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "manifests need a path") {
		t.Errorf("want to be told that there are no paths, got %v", err)
	}
	if err := srv.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := srv.Apply(t.Context(), "testdata/widgets"); err == nil || !strings.Contains(err.Error(), "the server has been stopped") {
		t.Errorf("want to be told that the server is gone, got %v", err)
	}
}

// Audit events are those that the policy selects.
func TestAudit(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	policy := &auditv1.Policy{Rules: []auditv1.PolicyRule{
		{Level: auditv1.LevelRequest, Verbs: []string{"create"}, Resources: []auditv1.GroupResources{{Resources: []string{"configmaps"}}},
			Namespaces: []string{"default"}, OmitStages: []auditv1.Stage{auditv1.StageRequestReceived}},
		{Level: auditv1.LevelNone},
	}}
	srv := miniapitest.Start(t, miniapitest.WithAudit(policy, func(event *auditv1.Event) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, strings.Join([]string{string(event.Stage), event.User.Username, event.Verb, event.ObjectRef.Resource, event.ObjectRef.Name}, " "))
		if event.RequestObject == nil {
			t.Error("the level is Request, and there is no request")
		}
	}))
	if _, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), configMap("m"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := srv.Stop(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{"ResponseComplete system:admin create configmaps m"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// An option that can't work is an error of Start that names its source.
func TestFailedStart(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	holder := miniapitest.Start(t, miniapitest.WithDataDir(filepath.Join(data, "held")))
	broken := filepath.Join(data, "broken.yaml")
	if err := os.WriteFile(broken, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not Valid}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	oldDefinition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
	}}
	tests := []struct {
		name, reason string
		option       miniapitest.Option
		want         string
	}{
		{"no file", "the option knows", miniapitest.WithManifests("testdata/none"), "testdata/none"},
		{"no definition", "nothing found is a mistake in the path", miniapitest.WithCRDs("testdata/webhooks"), "no CustomResourceDefinition in"},
		{"no webhook", "so it is here", miniapitest.WithWebhookManifests("testdata/widgets"), "no webhook configuration in"},
		{"relative path", "a server is asked for absolute ones", miniapitest.WithWebhook("validate", http.NotFoundHandler()), "must begin with a slash"},
		{"nil handler", "it would be missed at the first request only", miniapitest.WithWebhook("/validate", nil), "webhook /validate: the handler is nil"},
		{"nil function as a handler", "so would it", miniapitest.WithWebhook("/validate", http.HandlerFunc(nil)), "webhook /validate: the handler is nil"},
		{"nil function of a webhook", "so would it", miniapitest.WithWebhook("/validate", miniapitest.AdmissionHandler(nil)), "webhook /validate: the handler is nil"},
		{"nil handler that is recorded", "so would it", miniapitest.WithWebhook("/validate", (&miniapitest.Recorder{}).Handler(nil)), "webhook /validate: the handler is nil"},
		{"nil mux", "so would it", miniapitest.WithWebhook("/validate", (*http.ServeMux)(nil)), "webhook /validate: the handler is nil"},
		{"refused", "the server knows", miniapitest.WithManifests(broken), `broken.yaml, document 1: ConfigMap Not Valid: `},
		{"unknown plugin", "all of them are known", miniapitest.WithAdmissionPlugins("None"), `WithAdmissionPlugins: plugin "None" is unknown; known are `},
		{"unknown plugin to turn off", "so they are", miniapitest.WithoutAdmissionPlugins("None"), `WithoutAdmissionPlugins: plugin "None" is unknown; known are `},
		{"unknown gate", "so are gates", miniapitest.WithFeatureGates(map[string]bool{"None": true}), "feature gate None is unknown"},
		{"bad audit policy", "it would record nothing", miniapitest.WithAudit(&auditv1.Policy{Rules: []auditv1.PolicyRule{{Level: "All"}}}, func(*auditv1.Event) {}), "audit policy: "},
		{"audit policy without rules", "so would it", miniapitest.WithAudit(&auditv1.Policy{}, func(*auditv1.Event) {}), "audit policy: rules must be set"},
		{"nil option", "it is one that wasn't made", nil, "option 1 is nil"},
		{"nil audit sink", "every request would panic", miniapitest.WithAudit[auditv1.Event](nil, nil), "audit: the function that takes the events is nil"},
		{"nil object", "there is nothing to apply", miniapitest.WithObjects(configMap("m"), (*corev1.ConfigMap)(nil)), "object 2, *v1.ConfigMap, is nil"},
		{"nil file system", "it isn't the machine's", miniapitest.WithManifestsFS(nil, "x.yaml"), "WithManifestsFS: the file system is nil"},
		{"nil pointer to a file system", "it is none either", miniapitest.WithManifestsFS((*embed.FS)(nil), "x.yaml"), "WithManifestsFS: the file system is nil"},
		{"nil file system of definitions", "nor this one", miniapitest.WithCRDsFS(nil, "x.yaml"), "WithCRDsFS: the file system is nil"},
		{"nil file system of webhooks", "nor this one", miniapitest.WithWebhookManifestsFS(nil, "x.yaml"), "WithWebhookManifestsFS: the file system is nil"},
		{"no definition in a file system", "nothing found is a mistake there, too", miniapitest.WithCRDsFS(testdata, "testdata/webhooks"), "no CustomResourceDefinition in"},
		{"no webhook in a file system", "so it is here", miniapitest.WithWebhookManifestsFS(testdata, "testdata/widgets"), "no webhook configuration in"},
		{"no definition", "nothing that is applied defines the kind", miniapitest.WithManifests("testdata/widgets/widgets.yaml"), "widgets.yaml, document 1: Widget kept: no matches for kind"},
		{"where definitions go", "the server doesn't know the options", miniapitest.WithObjects(widget("lost")), "WithCRDs, which installs definitions before everything else"},
		{"old definition", "no option would help", miniapitest.WithObjects(oldDefinition), "definitions are apiextensions.k8s.io/v1 alone"},
		{"object without a name", "it is found before the server starts, as in files", miniapitest.WithObjects(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}), "object 1: ConfigMap: metadata.name must be set: what is applied needs one, and metadata.generateName"},
		{"review", "it isn't stored", miniapitest.WithObjects(&authenticationv1.TokenReview{}), "object 1: TokenReview: it is answered and not stored"},
		{"nil item of a list", "there is nothing to apply", miniapitest.WithObjects(&corev1.List{Items: []runtime.RawExtension{{}}}), "object 1, item 1, <nil>, is nil"},
		{"user without a name", "a certificate without a name identifies no user", miniapitest.WithUser(""), "a user needs a name"},
		{"no path", "it was meant to be there", miniapitest.WithManifests(), "manifests need a path"},
		{"no log", "nothing could be written", miniapitest.WithLog(nil), "the writer of the log is nil"},
		{"nil change", "it would be called", inprocess.WithServerOptions(nil), "the function that changes the server's options is nil"},
		{"no data folder", "a variable isn't set", miniapitest.WithDataDir(""), "a data folder needs a path"},
		{"no service", "nothing could name it", miniapitest.WithWebhookService("default", ""), `needs a namespace and a name: "default/"`},
		{"data folder in use", "one process holds it", miniapitest.WithDataDir(filepath.Join(data, "held")), "in use by process"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv, err := miniapitest.New(t.Context(), test.option)
			if err == nil {
				_ = srv.Stop()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q because %s, got %v", test.want, test.reason, err)
			}
		})
	}
	_ = holder
}

// Options of one server have no effect on others.
func TestServersDiffer(t *testing.T) {
	t.Parallel()
	plain := miniapitest.Start(t)
	special := miniapitest.Start(t,
		miniapitest.WithAdmissionPlugins("AlwaysPullImages"), miniapitest.WithoutAdmissionPlugins("DefaultTolerationSeconds"), miniapitest.Legacy(),
		miniapitest.WithUser("alice", "system:masters"))
	for _, test := range []struct {
		name        string
		srv         *miniapitest.Server
		pull        corev1.PullPolicy
		tolerations int
		legacy      bool
	}{
		{"plain", plain, corev1.PullIfNotPresent, 2, false},
		{"special", special, corev1.PullAlways, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pod, err := test.srv.Client().CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "web"},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1", ImagePullPolicy: corev1.PullIfNotPresent}}},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := pod.Spec.Containers[0].ImagePullPolicy; got != test.pull {
				t.Errorf("want the policy %s, got %s", test.pull, got)
			}
			if got := len(pod.Spec.Tolerations); got != test.tolerations {
				t.Errorf("want %d tolerations, got %d", test.tolerations, got)
			}
			_, err = test.srv.Client().ExtensionsV1beta1().Deployments("default").List(t.Context(), metav1.ListOptions{})
			if served := !apierrors.IsNotFound(err); served != test.legacy {
				t.Errorf("want extensions/v1beta1 served %t, got %v", test.legacy, err)
			}
		})
	}
	stranger := plain.Config()
	stranger.CertData, stranger.KeyData = special.User("alice").CertData, special.User("alice").KeyData
	client, err := kubernetes.NewForConfig(stranger)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("want the other server's user to be unknown here, got %v", err)
	}
}

// Feature gates are in force while servers with them run. The test isn't parallel: no other server may run meanwhile.
func TestFeatureGates(t *testing.T) {
	// Without the gate, the server refuses the option.
	unsafe := func(srv *miniapitest.Server) error {
		maps := srv.Client().CoreV1().ConfigMaps("default")
		if _, err := maps.Create(t.Context(), configMap("m"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		return maps.Delete(t.Context(), "m", metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: new(true)})
	}
	on := miniapitest.WithFeatureGates(map[string]bool{"AllowUnsafeMalformedObjectDeletion": true})
	srv, err := miniapitest.New(t.Context(), on)
	if err != nil {
		t.Fatal(err)
	}
	if err := unsafe(srv); !apierrors.IsConflict(err) {
		t.Errorf("want the option to be known and refused, got %v", err)
	}
	if over(inProcess) {
		if _, err := miniapitest.New(t.Context()); err == nil || !strings.Contains(err.Error(), "servers that run in it have AllowUnsafeMalformedObjectDeletion=true") {
			t.Errorf("want an error that names the gate, got %v", err)
		}
	} else if err := unsafe(miniapitest.Start(t)); err != nil {
		t.Errorf("beside the server with the gate: want the option to be ignored, got %v", err)
	}
	if err := srv.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := unsafe(miniapitest.Start(t)); err != nil {
		t.Errorf("want the option to be ignored, got %v", err)
	}
}

// The codecs of a server follow its gates, whatever gates the servers before it had. The test isn't parallel: no other
// server may run meanwhile.
func TestCodecsFollowGates(t *testing.T) {
	for _, on := range []bool{false, true, false} {
		srv, err := miniapitest.New(t.Context(), miniapitest.WithFeatureGates(map[string]bool{"CBORServingAndStorage": on}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = srv.Client().CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/default").SetHeader("Accept", "application/cbor").DoRaw(t.Context())
		if got := err == nil; got != on {
			t.Errorf("a namespace in CBOR: %t (%v), want %t", got, err, on)
		}
		if err := srv.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// A start ends with its context at any stage and leaves nothing; see TestMain.
func TestStartCancelled(t *testing.T) {
	t.Parallel()
	for patience := time.Duration(0); ; patience = patience*3/2 + time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		srv, err := miniapitest.New(ctx)
		cancel()
		if err == nil {
			if patience == 0 {
				t.Error("want an error")
			}
			if err := srv.Stop(); err != nil {
				t.Error(err)
			}
			return
		}
		if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "the context of the start has ended") {
			t.Errorf("after %s: %v", patience, err)
		}
	}
}

// WithDataDir keeps the data in its folder.
func TestDataDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 2 {
		srv, err := miniapitest.New(t.Context(), miniapitest.WithDataDir(dir))
		if err != nil {
			t.Fatal(err)
		}
		maps := srv.Client().CoreV1().ConfigMaps("default")
		if i == 0 {
			_, err = maps.Create(t.Context(), configMap("kept"), metav1.CreateOptions{})
		} else {
			_, err = maps.Get(t.Context(), "kept", metav1.GetOptions{})
		}
		if err != nil {
			t.Error(err)
		}
		if err := srv.Stop(); err != nil {
			t.Error(err)
		}
	}
}
