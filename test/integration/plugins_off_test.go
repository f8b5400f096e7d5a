package integration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// attempt makes a request, and returns its result as text.
type attempt func(*testing.T, *miniapitest.Server) string

// podShows returns an attempt that creates a pod in a dry run. The result of the attempt is the result of calling shows
// with the created pod, or the error.
func podShows(namespace string, shows func(*corev1.Pod) any, changes ...func(*corev1.Pod)) attempt {
	return func(t *testing.T, srv *miniapitest.Server) string {
		t.Helper()
		p := pod("p")
		for _, change := range changes {
			change(p)
		}
		created, err := srv.Client().CoreV1().Pods(namespace).Create(t.Context(), p, metav1.CreateOptions{DryRun: dry})
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(shows(created))
	}
}

// toleratedKeys returns the keys of a pod's tolerations.
func toleratedKeys(p *corev1.Pod) any {
	var keys []string
	for _, toleration := range p.Spec.Tolerations {
		keys = append(keys, toleration.Key)
	}
	slices.Sort(keys)
	return keys
}

// configured returns an option that gives a plugin a configuration, by --admission-control-config-file.
func configured(t testing.TB, plugin, configuration string) miniapitest.Option {
	t.Helper()
	file := filepath.Join(t.TempDir(), "admission.yaml")
	ok(t, os.WriteFile(file, []byte(`{"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
		"plugins": [{"name": "`+plugin+`", "configuration": `+configuration+`}]}`), 0o600))
	return inprocess.WithServerOptions(func(o *server.Options) { o.Admission.ConfigFile = file })
}

func annotatedNamespace(name, key, value string) miniapitest.Option {
	return miniapitest.WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{key: value}}})
}

// Each plugin that is off by default has no effect until an option turns it on.
func TestPluginsThatAreOff(t *testing.T) {
	t.Parallel()
	const admitted = "<nil>"
	inNewNamespace := func(t *testing.T, srv *miniapitest.Server) string {
		_, err := srv.Client().CoreV1().ConfigMaps("new").Create(t.Context(), thing(), metav1.CreateOptions{})
		return fmt.Sprint(err)
	}
	tests := []struct {
		plugin, reason string
		options        []miniapitest.Option
		try            attempt
		off, on        string // a part of the result without and with the plugin
	}{{
		plugin: "AlwaysPullImages", reason: "a user needs the permission to pull an image on the node",
		try: podShows("default", func(p *corev1.Pod) any { return p.Spec.Containers[0].ImagePullPolicy }),
		off: "IfNotPresent", on: "Always",
	}, {
		plugin: "NamespaceAutoProvision", reason: "the plugin creates a missing namespace",
		try: inNewNamespace,
		off: `namespaces "new" not found`, on: admitted,
	}, {
		plugin: "NamespaceExists", reason: "the plugin refuses objects in a missing namespace",
		options: []miniapitest.Option{miniapitest.WithoutAdmissionPlugins("NamespaceLifecycle")},
		try:     inNewNamespace,
		off:     admitted, on: `namespaces "new" not found`,
	}, {
		plugin: "OwnerReferencesPermissionEnforcement", reason: "blocking the deletion of an owner needs a permission",
		try: func(t *testing.T, srv *miniapitest.Server) string {
			grant(t, srv, "somebody", rbacRule("", "*", "configmaps"))
			_, err := clientOf(t, srv, "somebody").CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Name:            "owned",
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u", BlockOwnerDeletion: new(true)}},
			}}, metav1.CreateOptions{})
			return fmt.Sprint(err)
		},
		off: admitted, on: `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: `,
	}, {
		plugin: "PodNodeSelector", reason: "a namespace says on which nodes its pods run",
		options: []miniapitest.Option{annotatedNamespace("placed", "scheduler.alpha.kubernetes.io/node-selector", "zone=a")},
		try:     podShows("placed", func(p *corev1.Pod) any { return p.Spec.NodeSelector }),
		off:     "map[]", on: "map[zone:a]",
	}, {
		plugin: "PodTolerationRestriction", reason: "a namespace says what its pods tolerate",
		options: []miniapitest.Option{annotatedNamespace("tolerant", "scheduler.alpha.kubernetes.io/defaultTolerations", `[{"key":"k","operator":"Exists"}]`)},
		try:     podShows("tolerant", toleratedKeys),
		off:     "[node.kubernetes.io/not-ready node.kubernetes.io/unreachable]",
		on:      "[k node.kubernetes.io/not-ready node.kubernetes.io/unreachable]",
	}, {
		plugin: "NodeRestriction", reason: "a node may change only its own Node object",
		options: []miniapitest.Option{miniapitest.WithObjects(
			&corev1.Node{ObjectMeta: named("a")}, &corev1.Node{ObjectMeta: named("b")},
			&rbacv1.ClusterRoleBinding{
				ObjectMeta: named("nodes"),
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:nodes"}},
			},
		)},
		try: func(t *testing.T, srv *miniapitest.Server) string {
			_, err := clientOf(t, srv, "system:node:a", "system:nodes").CoreV1().Nodes().Patch(t.Context(), "b", types.MergePatchType, []byte(`{"metadata":{"labels":{"l":"v"}}}`), metav1.PatchOptions{})
			return fmt.Sprint(err)
		},
		off: admitted, on: `nodes "b" is forbidden: node "a" is not allowed to modify node "b"`,
	}, {
		plugin: "ServiceAccount", reason: "a pod gets the service account default, which a controller creates",
		options: []miniapitest.Option{miniapitest.WithObjects(in("default", &corev1.ServiceAccount{ObjectMeta: named("default")}))},
		try:     podShows("default", func(p *corev1.Pod) any { return "runs as " + p.Spec.ServiceAccountName + "." }),
		off:     "runs as .", on: "runs as default.",
	}, {
		plugin: "DenyServiceExternalIPs", reason: "users may not use external addresses",
		try: func(t *testing.T, srv *miniapitest.Server) string {
			_, err := srv.Client().CoreV1().Services("default").Create(t.Context(), &corev1.Service{ObjectMeta: named("s"), Spec: corev1.ServiceSpec{
				Ports: []corev1.ServicePort{{Port: 80}}, ExternalIPs: []string{"192.0.2.1"},
			}}, metav1.CreateOptions{DryRun: dry})
			return fmt.Sprint(err)
		},
		off: admitted, on: `services "s" is forbidden: Use of external IPs is denied by admission control`,
	}, {
		plugin: "LimitPodHardAntiAffinityTopology", reason: "anti-affinity may only have the topology of nodes",
		try: podShows("default", func(*corev1.Pod) any { return admitted }, func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}},
			}}
		}),
		off: admitted,
		on:  `pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key kubernetes.io/hostname is allowed`,
	}, {
		plugin: "ExtendedResourceToleration", reason: "a pod that requests a resource gets the toleration for its nodes",
		try: podShows("default", toleratedKeys, func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
		}),
		off: "[node.kubernetes.io/not-ready node.kubernetes.io/unreachable]",
		on:  "[example.com/gpu node.kubernetes.io/not-ready node.kubernetes.io/unreachable]",
	}, {
		plugin: "EventRateLimit", reason: "the plugin limits the number of events in a second",
		options: []miniapitest.Option{configured(t, "EventRateLimit",
			`{"apiVersion": "eventratelimit.admission.k8s.io/v1alpha1", "kind": "Configuration", "limits": [{"type": "Namespace", "qps": 1, "burst": 1}]}`)},
		try: func(t *testing.T, srv *miniapitest.Server) string {
			for range 10 { // so many that two of them fall into the same second
				if _, err := srv.Client().CoreV1().Events("default").Create(t.Context(), &corev1.Event{
					ObjectMeta: metav1.ObjectMeta{GenerateName: "e-"}, InvolvedObject: corev1.ObjectReference{Namespace: "default"},
				}, metav1.CreateOptions{}); err != nil {
					return err.Error()
				}
			}
			return admitted
		},
		off: admitted, on: "limit reached on type Namespace for key default",
	}, {
		plugin: "ImagePolicyWebhook", reason: "a backend says which images may run",
		options: []miniapitest.Option{configured(t, "ImagePolicyWebhook", fmt.Sprintf(`{"imagePolicy": {"kubeConfigFile": %q}}`, imagePolicy(t, "main:1")))},
		try:     podShows("default", func(*corev1.Pod) any { return nil }),
		off:     "<nil>", on: `pods "p" is forbidden: image policy webhook backend denied one or more images: it isn't signed`,
	}}
	for _, test := range tests {
		for _, state := range []struct {
			name, reason, want string
			options            []miniapitest.Option
		}{
			{"off", "the plugin is off by default", test.off, nil},
			{"on", "an option turns the plugin on", test.on, []miniapitest.Option{miniapitest.WithAdmissionPlugins(test.plugin)}},
		} {
			t.Run(test.plugin+"-"+state.name, func(t *testing.T) {
				t.Parallel()
				srv := miniapitest.Start(t, append(state.options, test.options...)...)
				if got := test.try(t, srv); !strings.Contains(got, state.want) {
					t.Errorf("%s, and %s: want %q, got %q", test.reason, state.reason, state.want, got)
				}
			})
		}
	}
}

// imagePolicy starts a backend of ImagePolicyWebhook, and writes a kubeconfig for the backend. The backend refuses only
// the image with the name unsigned.
func imagePolicy(t testing.TB, unsigned string) string {
	t.Helper()
	port := trusted.serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review imagepolicyv1alpha1.ImageReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Status.Allowed = true
		for _, container := range review.Spec.Containers {
			if container.Image == unsigned {
				review.Status = imagepolicyv1alpha1.ImageReviewStatus{Reason: "it isn't signed"}
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review) // an error means that the client is gone
	}), "images.default.svc")
	config := clientcmdapi.NewConfig()
	config.Clusters["images"] = &clientcmdapi.Cluster{
		Server: fmt.Sprintf("https://127.0.0.1:%d", port), TLSServerName: "images.default.svc", CertificateAuthorityData: trusted.pem,
	}
	config.Contexts["images"], config.CurrentContext = &clientcmdapi.Context{Cluster: "images"}, "images"
	return write(t, "images.kubeconfig", string(must(clientcmd.Write(*config))(t)))
}

// AlwaysAdmit refuses nothing, so only the metrics show that it runs. All tests of the process share the metrics, and
// no other test turns the plugin on.
func TestAlwaysAdmit(t *testing.T) {
	t.Parallel()
	for _, state := range []struct {
		name, reason string
		options      []miniapitest.Option
		want         []string // the phases in which the plugin runs
	}{
		{"off", "no option turns the plugin on", nil, nil},
		{"on", "the plugin is in both phases", []miniapitest.Option{miniapitest.WithAdmissionPlugins("AlwaysAdmit")},
			[]string{"admit", "validate"}},
	} {
		srv := miniapitest.Start(t, state.options...)
		admissions := func(phase string) []string {
			return samples(t, srv, `{name="AlwaysAdmit",operation="CREATE",rejected="false",type="`+phase+`"}`, "apiserver_admission_controller_admission_duration_seconds_count")
		}
		before := map[string][]string{"admit": admissions("admit"), "validate": admissions("validate")}
		ok(t, createConfigMap(t.Context(), srv.Client(), "m", nil))
		var got []string
		for _, phase := range []string{"admit", "validate"} {
			if !slices.Equal(before[phase], admissions(phase)) {
				got = append(got, phase)
			}
		}
		if diff := cmp.Diff(state.want, got); diff != "" {
			t.Errorf("%s: %s: phases (-want +got):\n%s", state.name, state.reason, diff)
		}
	}
}

// AlwaysDeny refuses every write, even the writes of the server at its start. The server starts nevertheless.
func TestAlwaysDeny(t *testing.T) {
	t.Parallel()
	client := miniapitest.Start(t, miniapitest.WithAdmissionPlugins("AlwaysDeny")).Client()
	const want = `configmaps "m" is forbidden: admission control is denying all modifications`
	if diff := cmp.Diff(want, statusOf(createConfigMap(t.Context(), client, "m", nil)).Message); diff != "" {
		t.Errorf("refusal (-want +got):\n%s", diff)
	}
	must(client.CoreV1().ConfigMaps(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{}))(t)
}

// AlwaysDeny runs last among the mutating plugins. So the server calls every mutating webhook before AlwaysDeny refuses
// the request, and calls no validating webhook.
func TestAlwaysDenyComesLast(t *testing.T) {
	t.Parallel()
	own := must(newAuthority())(t)
	recorder := &miniapitest.Recorder{}
	port := own.serve(t, recorder.Handler(allow()), "localhost")
	served := func(h *hook) {
		h.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: new(fmt.Sprintf("https://localhost:%d/%s", port, h.shortName())), CABundle: own.pem}
		h.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: metav1.NamespaceDefault}}
	}
	data := miniapitest.WithDataDir(t.TempDir())
	before := miniapitest.Start(t, data)
	mutates, validates := mutating("m", nil, served), validating("v", nil, served)
	registration := before.Client().AdmissionregistrationV1()
	must(registration.MutatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: named("m"), Webhooks: []admissionregistrationv1.MutatingWebhook{mutates.MutatingWebhook},
	}, metav1.CreateOptions{}))(t)
	must(registration.ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: named("v"), Webhooks: []admissionregistrationv1.ValidatingWebhook{validates.validating()},
	}, metav1.CreateOptions{}))(t)
	ok(t, createConfigMap(t.Context(), before.Client(), "m", nil))
	if diff := cmp.Diff([]string{"m", "v"}, called(recorder)); diff != "" {
		t.Fatalf("calls without the plugin (-want +got):\n%s", diff)
	}
	ok(t, before.Stop())

	client := miniapitest.Start(t, data, miniapitest.WithAdmissionPlugins("AlwaysDeny")).Client()
	recorder.Reset()
	if err := createConfigMap(t.Context(), client, "n", nil); !strings.Contains(fmt.Sprint(err), "admission control is denying all modifications") {
		t.Errorf("want the plugin's refusal, got %v", err)
	}
	if diff := cmp.Diff([]string{"m"}, called(recorder)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
