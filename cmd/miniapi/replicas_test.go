package main

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
)

// replicas starts two servers with one etcd, and returns a client configuration of each.
func replicas(t *testing.T, args ...string) (here, there *rest.Config) {
	t.Helper()
	args = append(args, "--etcd-servers="+startEtcd(t))
	_, here = serve(t, args...)
	_, there = serve(t, args...)
	return here, there
}

// comesTrue repeats try until try returns no error, because a server gets a write through another server only after a
// moment.
func comesTrue(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	last := errors.New("not tried")
	if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, deadline, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	}); err != nil {
		t.Fatalf("%s: %v", what, errors.Join(err, last))
	}
}

// Two servers have one etcd. If a client writes an object or a configuration through one server, the write is soon in
// effect on the other server.
func TestReplicasServeTheSame(t *testing.T) {
	t.Parallel()
	configHere, configThere := replicas(t)
	here, there := client(t, configHere), client(t, configThere)
	maps := func(c kubernetes.Interface, name string) error {
		_, err := c.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}

	watching, err := there.CoreV1().ConfigMaps(metav1.NamespaceDefault).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=a"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watching.Stop)
	if err := maps(here, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := there.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
		t.Errorf("an object isn't read through the other server: %v", err)
	}
	select {
	case event := <-watching.ResultChan():
		if event.Type != watch.Added {
			t.Errorf("want the other server's watch to say that the object is added, got %s %v", event.Type, event.Object)
		}
	case <-time.After(deadline):
		t.Error("the other server's watch says nothing of an object")
	}

	registration := here.AdmissionregistrationV1()
	if _, err := registration.ValidatingAdmissionPolicies().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets"}},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "false"}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := registration.ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "none", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	secret := func(ctx context.Context) error {
		_, err := there.CoreV1().Secrets(metav1.NamespaceDefault).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	comesTrue(t, "a policy isn't in force on the other server", func(ctx context.Context) error {
		if err := secret(ctx); !apierrors.IsInvalid(err) {
			return fmt.Errorf("want the secret refused, got %w", err)
		}
		return nil
	})
	if err := registration.ValidatingAdmissionPolicyBindings().Delete(t.Context(), "none", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	comesTrue(t, "a policy is still in force on the other server", secret)

	if _, err := here.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "jane"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "jane"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	asJane := rest.CopyConfig(configThere)
	asJane.Impersonate.UserName = "jane"
	jane := client(t, asJane)
	comesTrue(t, "a user may not do on the other server what the user may do here", func(ctx context.Context) error {
		_, err := jane.CoreV1().Secrets(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		return err
	})

	definitions, err := apiextensions.NewForConfig(configHere)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := definitions.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gears.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gears", Kind: "Gear"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"},
			}}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	comesTrue(t, "a custom resource isn't served by the other server", func(ctx context.Context) error {
		return there.CoreV1().RESTClient().Get().AbsPath("/apis/example.com/v1/namespaces/default/gears").Do(ctx).Error()
	})
}

// Two servers get writes at the same time. No update is lost, no cluster IP is allocated twice, and a quota is not
// exceeded.
func TestReplicasDontGetInEachOthersWay(t *testing.T) {
	t.Parallel()
	// The range has 126 addresses, and the test uses most of them. So the servers often try to allocate the same
	// address.
	configHere, configThere := replicas(t, "--service-cluster-ip-range=10.0.0.0/25")
	clients := []kubernetes.Interface{client(t, configHere), client(t, configThere)}
	core := clients[0].CoreV1()
	const writers, writes = 4, 10 // writers on each server, and writes of each writer

	// together runs all writers on both servers at the same time, and returns their errors.
	together := func(write func(ctx context.Context, c kubernetes.Interface, name string) error) (failures []error) {
		var mu sync.Mutex
		var writing sync.WaitGroup
		for server, c := range clients {
			for writer := range writers {
				writing.Go(func() {
					for i := range writes {
						if err := write(t.Context(), c, fmt.Sprintf("w-%d-%d-%d", server, writer, i)); err != nil {
							mu.Lock()
							failures = append(failures, err)
							mu.Unlock()
						}
					}
				})
			}
		}
		writing.Wait()
		return failures
	}
	const all = 2 * writers * writes

	if _, err := core.ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "counter"}, Data: map[string]string{"count": "0"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, err := range together(func(ctx context.Context, c kubernetes.Interface, _ string) error {
		return retry.OnError(wait.Backoff{Duration: time.Millisecond, Steps: 1000}, apierrors.IsConflict, func() error {
			counter, err := c.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(ctx, "counter", metav1.GetOptions{})
			if err != nil {
				return err
			}
			count, err := strconv.Atoi(counter.Data["count"])
			if err != nil {
				return err
			}
			counter.Data["count"] = strconv.Itoa(count + 1)
			_, err = c.CoreV1().ConfigMaps(metav1.NamespaceDefault).Update(ctx, counter, metav1.UpdateOptions{})
			return err
		})
	}) {
		t.Errorf("counting: %v", err)
	}
	counter, err := core.ConfigMaps(metav1.NamespaceDefault).Get(t.Context(), "counter", metav1.GetOptions{})
	if err != nil || counter.Data["count"] != strconv.Itoa(all) {
		t.Errorf("want %d updates to be counted, got %v, %v", all, counter.Data, err)
	}

	for _, err := range together(func(ctx context.Context, c kubernetes.Interface, name string) error {
		_, err := c.CoreV1().Services(metav1.NamespaceDefault).Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{})
		return err
	}) {
		t.Errorf("creating services: %v", err)
	}
	services, err := core.Services(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	addresses := sets.New[string]()
	for i := range services.Items {
		addresses.Insert(services.Items[i].Spec.ClusterIP)
	}
	// The namespace also has the Service kubernetes.
	if want := all + 1; len(services.Items) != want || len(addresses) != want {
		t.Errorf("want %d services with an address each, got %d with %d addresses", want, len(services.Items), len(addresses))
	}

	const allowed = all / 2
	// The quota controller of one of the servers writes the status, so the test doesn't.
	if _, err := core.ResourceQuotas(metav1.NamespaceDefault).Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "half"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			"count/secrets": resource.MustParse(strconv.Itoa(allowed)), "count/configmaps": resource.MustParse("0"),
		}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i, c := range clients { // either server may be the last one to see the status
		comesTrue(t, fmt.Sprintf("the quota isn't in force on server %d", i), func(ctx context.Context) error {
			_, err := c.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "more"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if !apierrors.IsForbidden(err) {
				return fmt.Errorf("want a config map refused, got %w", err)
			}
			return nil
		})
	}
	// If other writers change the quota's status several times, a server answers with a conflict. The writer then tries
	// again.
	again := wait.Backoff{Steps: 1000, Duration: 10 * time.Millisecond, Jitter: 1}
	refused := together(func(ctx context.Context, c kubernetes.Interface, name string) error {
		return retry.OnError(again, apierrors.IsConflict, func() error {
			_, err := c.CoreV1().Secrets(metav1.NamespaceDefault).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			return err
		})
	})
	for _, err := range refused {
		if !apierrors.IsForbidden(err) {
			t.Errorf("creating secrets: want the quota's refusals alone, got %v", err)
		}
	}
	secrets, err := core.Secrets(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(secrets.Items) != allowed {
		t.Errorf("want %d secrets, as many as the quota allows, got %d and %d refusals, %v", allowed, len(secrets.Items), len(refused), err)
	}
}

// The endpoints of the service "kubernetes" are the addresses of all live servers. A server that stops removes its own
// address. The address of a killed server goes when its lease expires.
func TestReplicasInEndpoints(t *testing.T) {
	t.Parallel()
	store := startEtcd(t)
	advertise := func(address string, args ...string) (*process, kubernetes.Interface) {
		p, config := serve(t, append(args, "--etcd-servers="+store, "--advertise-address="+address)...)
		return p, client(t, config)
	}
	stopped, _ := advertise("192.0.2.1")
	killed, _ := advertise("192.0.2.2")
	_, last := advertise("192.0.2.3")
	advertise("192.0.2.4", "--endpoint-reconciler-type=none")
	awaitEndpoints(t, last, "192.0.2.1", "192.0.2.2", "192.0.2.3")
	stopped.signal(t, syscall.SIGTERM)
	stopped.exit(t)
	awaitEndpoints(t, last, "192.0.2.2", "192.0.2.3")
	killed.signal(t, syscall.SIGKILL)
	awaitEndpoints(t, last, "192.0.2.3")
}

// awaitEndpoints waits until the endpoints of the Service kubernetes have the addresses.
func awaitEndpoints(t *testing.T, c kubernetes.Interface, want ...string) {
	t.Helper()
	comesTrue(t, "the endpoints aren't the live servers", func(ctx context.Context) error {
		endpoints, err := c.CoreV1().Endpoints(metav1.NamespaceDefault).Get(ctx, "kubernetes", metav1.GetOptions{})
		if err != nil {
			return err
		}
		slice, err := c.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).Get(ctx, "kubernetes", metav1.GetOptions{})
		if err != nil {
			return err
		}
		var addresses, inSlice []string
		for _, subset := range endpoints.Subsets {
			for _, address := range subset.Addresses {
				addresses = append(addresses, address.IP)
			}
		}
		for _, endpoint := range slice.Endpoints {
			inSlice = append(inSlice, endpoint.Addresses...)
		}
		if !slices.Equal(addresses, want) || !slices.Equal(inSlice, want) {
			return fmt.Errorf("want %v, got %v, and %v in the slice", want, addresses, inSlice)
		}
		return nil
	})
}

// With --endpoint-reconciler-type=master-count, the endpoints are the address of the server that has written them last,
// and a server that stops removes its own.
func TestMasterCountEndpoints(t *testing.T) {
	t.Parallel()
	store := startEtcd(t)
	_, config := serve(t, "--etcd-servers="+store, "--endpoint-reconciler-type=none")
	reader := client(t, config)
	for _, address := range []string{"192.0.2.1", "192.0.2.2"} {
		server, _ := serve(t, "--etcd-servers="+store, "--advertise-address="+address, "--endpoint-reconciler-type=master-count")
		awaitEndpoints(t, reader, address)
		server.signal(t, syscall.SIGTERM)
		server.exit(t)
		awaitEndpoints(t, reader)
	}
}

// Extension API servers get the authorities of client certificates from all servers of an etcd, also when a file with
// authorities changes.
func TestReplicasAreTrusted(t *testing.T) {
	t.Parallel()
	store := startEtcd(t)
	first, _ := keyPairFiles(t, x509.Certificate{Subject: pkix.Name{CommonName: "first"}})
	second, _ := keyPairFiles(t, x509.Certificate{Subject: pkix.Name{CommonName: "second"}})
	third, _ := keyPairFiles(t, x509.Certificate{Subject: pkix.Name{CommonName: "third"}})
	_, config := serve(t, "--etcd-servers="+store, "--client-ca-file="+first, "--cert-dir="+t.TempDir())
	serve(t, "--etcd-servers="+store, "--client-ca-file="+second, "--cert-dir="+t.TempDir())
	reader := client(t, config)
	comesTrue(t, "the servers aren't both trusted as front proxies", func(ctx context.Context) error {
		trust, err := reader.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "extension-apiserver-authentication", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if count := strings.Count(trust.Data["requestheader-client-ca-file"], "BEGIN CERTIFICATE"); count != 2 {
			return fmt.Errorf("%d authorities of front proxies, want 2", count)
		}
		return nil
	})
	has := func(what string, files ...string) {
		t.Helper()
		comesTrue(t, what, func(ctx context.Context) error {
			trust, err := reader.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "extension-apiserver-authentication", metav1.GetOptions{})
			for _, name := range files {
				authority, readErr := os.ReadFile(name)
				if err = errors.Join(err, readErr); err == nil && !strings.Contains(trust.Data["client-ca-file"], string(authority)) {
					err = fmt.Errorf("the authority in %s is missing", name)
				}
			}
			return err
		})
	}
	has("the servers don't trust each other's clients", first, second)
	changed, err := os.ReadFile(third)
	if err == nil {
		err = os.WriteFile(first, changed, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	has("the changed file isn't published", second, third)
}
