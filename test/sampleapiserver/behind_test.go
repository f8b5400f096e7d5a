package sampleapiserver

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	sample "k8s.io/sample-apiserver/pkg/cmd/server"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

const (
	group = "wardle.example.com"
	// patience limits each wait.
	patience = time.Minute
)

var (
	flunders    = schema.GroupVersionResource{Group: group, Version: "v1beta1", Resource: "flunders"}
	oldFlunders = schema.GroupVersionResource{Group: group, Version: "v1alpha1", Resource: "flunders"}
	fischers    = schema.GroupVersionResource{Group: group, Version: "v1alpha1", Resource: "fischers"}
)

// startEtcd runs an etcd until the test ends, and returns its URL. The sample server has no etcd of its own.
func startEtcd(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "miniapi")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/miniapi")
	build.Dir = filepath.Join("..", "..")
	build.Env = append(os.Environ(), "GOWORK=", "PWD=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building miniapi: %v: %s", err, out)
	}
	client, peer := "http://"+freeAddress(t), "http://"+freeAddress(t)
	etcd := exec.Command(program, "etcd", "--data-dir="+t.TempDir(), "--unsafe-no-fsync", "--log-level=error",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer)
	if err := etcd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = etcd.Process.Kill()
		_ = etcd.Wait()
	})
	return client
}

// freeAddress returns an address on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// startSample runs the sample server behind the front until the test ends, and returns its port.
func startSample(t *testing.T, front *miniapitest.Server, etcd string) int32 {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	options := sample.NewWardleServerOptions(os.Stderr, os.Stderr)
	options.RecommendedOptions.SecureServing.Listener = listener
	ctx, stop := context.WithCancel(context.Background())
	cmd := sample.NewCommandStartWardleServer(ctx, options, false)
	kubeconfig := front.KubeconfigFile()
	cmd.SetArgs([]string{
		"--etcd-servers=" + etcd, "--cert-dir=" + t.TempDir(), "--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
	})
	done := make(chan error, 1)
	go func() { done <- cmd.Execute() }()
	t.Cleanup(func() {
		// The sample server waits a minute for the front's watches to end.
		if err := front.Stop(); err != nil {
			t.Error(err)
		}
		stop()
		if err := <-done; err != nil {
			t.Errorf("the sample server: %v", err)
		}
	})
	return int32(listener.Addr().(*net.TCPAddr).Port)
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) { return holds(ctx), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// register registers the sample server's versions, and waits until they are available.
func register(t *testing.T, front *miniapitest.Server, port int32) {
	t.Helper()
	_, err := front.Client().CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "wardle"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientset.NewForConfig(front.Config())
	if err != nil {
		t.Fatal(err)
	}
	services := client.ApiregistrationV1().APIServices()
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		_, err := services.Create(t.Context(), &apiregistrationv1.APIService{
			ObjectMeta: metav1.ObjectMeta{Name: version + "." + group},
			Spec: apiregistrationv1.APIServiceSpec{
				Group: group, Version: version, GroupPriorityMinimum: 1000, VersionPriority: 15, InsecureSkipTLSVerify: true,
				Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "wardle", Port: &port},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, version+" is available", func(ctx context.Context) bool {
			service, err := services.Get(ctx, version+"."+group, metav1.GetOptions{})
			return err == nil && len(service.Status.Conditions) > 0 && service.Status.Conditions[0].Status == apiregistrationv1.ConditionTrue
		})
	}
}

// object returns an object of the sample server.
func object(resource schema.GroupVersionResource, kind, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	for field, value := range fields {
		u.Object[field] = value
	}
	u.SetGroupVersionKind(resource.GroupVersion().WithKind(kind))
	u.SetName(name)
	return u
}

// The sample server is available behind miniapi, and its kinds are the front's: with discovery, both versions, apply, the
// sample's own admission, and the front's users, namespaces, policies, webhooks and garbage collection.
func TestBehind(t *testing.T) {
	front := miniapitest.Start(t, miniapitest.WithUser("stranger"), miniapitest.WithControllers("garbage-collector-controller"))
	port := startSample(t, front, startEtcd(t))
	register(t, front, port)
	ctx, client := t.Context(), front.DynamicClient()
	in := client.Resource(flunders).Namespace("default")

	resources, err := front.Client().Discovery().ServerResourcesForGroupVersion(group + "/v1beta1")
	if err != nil || len(resources.APIResources) == 0 || resources.APIResources[0].Kind != "Flunder" {
		t.Errorf("discovery of v1beta1: %v, %v", resources, err)
	}
	if paths, err := front.Client().Discovery().OpenAPIV3().Paths(); err != nil || paths["apis/"+group+"/v1beta1"] == nil {
		t.Errorf("the OpenAPI documents lack v1beta1: %v", err)
	}

	reference := map[string]any{"spec": map[string]any{"reference": "other"}}
	if _, err := client.Resource(oldFlunders).Namespace("default").Create(ctx, object(oldFlunders, "Flunder", "mine", reference), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	mine, err := in.Get(ctx, "mine", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _, _ := unstructured.NestedString(mine.Object, "spec", "flunderReference"); got != "other" {
		t.Errorf("the reference in v1beta1 is %q", got)
	}
	if _, err := in.Apply(ctx, "applied", object(flunders, "Flunder", "applied", nil), metav1.ApplyOptions{FieldManager: "test"}); err != nil {
		t.Errorf("apply: %v", err)
	}

	banned := object(fischers, "Fischer", "strict", map[string]any{"disallowedFlunders": []any{"bad"}})
	if _, err := client.Resource(fischers).Create(ctx, banned, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the sample's plugin refuses the name", func(ctx context.Context) bool {
		_, err := in.Create(ctx, object(flunders, "Flunder", "bad", nil), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "this name may not be used")
	})

	if _, err := client.Resource(flunders).Namespace("missing").Create(ctx, object(flunders, "Flunder", "lost", nil), metav1.CreateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a namespace that the front lacks: %v", err)
	}
	stranger, err := dynamic.NewForConfig(front.User("stranger"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Resource(flunders).List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a user without a role: %v", err)
	}

	if err := front.Apply(ctx, "../../examples/aggregated/testdata/policies.yaml"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the front's policy labels flunders", func(ctx context.Context) bool {
		labeled, err := in.Create(ctx, object(flunders, "Flunder", "labeled", nil), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && labeled.GetLabels()["policy"] == "labeled"
	})
	eventually(t, "the front's policy refuses a name", func(ctx context.Context) bool {
		_, err := in.Create(ctx, object(flunders, "Flunder", "nemo", nil), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'flunders' with binding 'flunders' denied request: the name nemo is reserved in default")
	})

	refuse := front.Webhook("/flunders", miniapitest.AdmissionHandler(func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return miniapitest.Denied("by the front's webhook")
	}))
	none := admissionregistrationv1.SideEffectClassNone
	_, err = front.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "flunders"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "flunders.example.com", ClientConfig: refuse.ClientConfig(), SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{"flunders"}},
			}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the front's webhook refuses flunders", func(ctx context.Context) bool {
		_, err := in.Create(ctx, object(flunders, "Flunder", "refused", nil), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "by the front's webhook")
	})
	if err := front.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(ctx, "flunders", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	// The front's garbage collector deletes the dependents of the sample server's objects.
	_, err = front.Client().CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "dependent", OwnerReferences: []metav1.OwnerReference{{APIVersion: group + "/v1beta1", Kind: "Flunder", Name: "mine", UID: mine.GetUID()}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Delete(ctx, "mine", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the dependent is deleted", func(ctx context.Context) bool {
		_, err := front.Client().CoreV1().ConfigMaps("default").Get(ctx, "dependent", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
