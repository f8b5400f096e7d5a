package main

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// peer is one of several servers with one etcd.
type peer struct {
	*process
	config *rest.Config
	kubernetes.Interface
}

// startPeers runs servers with one etcd, each with its own arguments, and returns when they are healthy. All of them
// trust one self-signed certificate.
func startPeers(t *testing.T, servers ...[]string) []*peer {
	t.Helper()
	// The certificate is a serving certificate for the loopback address, and also a client certificate, because each
	// server is a client of its peers.
	cert, key := keyPairFiles(t, x509.Certificate{
		Subject: pkix.Name{CommonName: "peer"}, DNSNames: []string{"kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:        true, BasicConstraintsValid: true,
	})
	store := startEtcd(t)
	var peers []*peer
	for _, args := range servers {
		address := freeAddress(t)
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		p := &peer{process: start(t, "kube-apiserver", append([]string{
			"--etcd-servers=" + store, "--bind-address=127.0.0.1", "--secure-port=" + port, "--authorization-mode=RBAC",
			"--token-auth-file=" + file(t, "tokens.csv", `secret,admin,1,"system:masters"`),
			"--tls-cert-file=" + cert, "--tls-private-key-file=" + key, "--peer-ca-file=" + cert,
			"--proxy-client-cert-file=" + cert, "--proxy-client-key-file=" + key, "--requestheader-client-ca-file=" + cert,
			"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
			"--requestheader-uid-headers=X-Remote-Uid", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		}, args...)...)}
		p.awaitHealthy(t, "https://"+address+"/readyz")
		p.config = &rest.Config{Host: address, BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{CAFile: cert}}
		p.Interface = client(t, p.config)
		peers = append(peers, p)
	}
	return peers
}

// groups returns the groups in aggregated discovery, by a request with an Accept header.
func (p *peer) groups(ctx context.Context, accept string) ([]string, error) {
	document, err := p.Discovery().RESTClient().Get().AbsPath("/apis").SetHeader("Accept", accept).DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(document, &list); err != nil {
		return nil, err
	}
	var groups []string
	for _, g := range list.Items {
		groups = append(groups, g.Name)
	}
	return groups, nil
}

// awaitGroups waits until discovery with the Accept header has all groups of have, and no group of lack.
func (p *peer) awaitGroups(t *testing.T, accept string, have, lack []string) {
	t.Helper()
	p.await(t, func() error {
		groups, err := p.groups(t.Context(), accept)
		for _, group := range slices.Concat(have, lack) {
			if err == nil && slices.Contains(groups, group) != slices.Contains(have, group) {
				err = fmt.Errorf("groups are %v, want %v and not %v", groups, have, lack)
			}
		}
		return err
	})
}

// If a server lacks the resource of a request, another server of the same etcd answers, with the permissions of the
// client. Discovery has the resources of all servers. Discovery with the Accept header discovery.AcceptV2NoPeer has the
// resources of one server.
func TestPeers(t *testing.T) {
	t.Parallel()
	servers := startPeers(t, []string{"--runtime-config=apps/v1=false"}, []string{"--runtime-config=batch/v1=false"})
	withBatch, withApps := servers[0], servers[1]
	withBatch.awaitGroups(t, discovery.AcceptV2, []string{"batch", "apps"}, nil)
	withApps.awaitGroups(t, discovery.AcceptV2, []string{"batch", "apps"}, nil)
	withBatch.awaitGroups(t, discovery.AcceptV2NoPeer, []string{"batch"}, []string{"apps"})
	withApps.awaitGroups(t, discovery.AcceptV2NoPeer, []string{"apps"}, []string{"batch"})

	ctx := t.Context()
	meta := metav1.ObjectMeta{Name: "web", Labels: map[string]string{"app": "web"}}
	template := corev1.PodTemplateSpec{ObjectMeta: meta, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}}}
	deployment := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: metav1.SetAsLabelSelector(meta.Labels), Template: template}}
	if _, err := withBatch.AppsV1().Deployments(metav1.NamespaceDefault).Create(ctx, deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := withApps.AppsV1().Deployments(metav1.NamespaceDefault).Get(ctx, "web", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: batchv1.JobSpec{Template: template}}
	if _, err := withApps.BatchV1().Jobs(metav1.NamespaceDefault).Create(ctx, job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	// A user without permissions gets no access through the server that lacks the resource.
	config := rest.CopyConfig(withApps.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	if _, err := client(t, config).BatchV1().Jobs(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a client without rights is answered %v", err)
	}

	withBatch.signal(t, syscall.SIGTERM)
	if code, _, stderr := withBatch.exit(t); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	withApps.awaitGroups(t, discovery.AcceptV2, []string{"apps"}, []string{"batch"})
	if _, err := withApps.BatchV1().Jobs(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("when no server has the resource, the answer is %v", err)
	}
}

// If a client creates a custom resource definition through one server, the discovery of each server has the group of
// the definition. After the definition is deleted, no server has the group.
func TestPeersOfDefinitions(t *testing.T) {
	t.Parallel()
	servers := startPeers(t, nil, nil)
	definitions, err := apiextensions.NewForConfig(servers[0].config)
	if err != nil {
		t.Fatal(err)
	}
	name := "gears.example.com"
	if _, err := definitions.CustomResourceDefinitions().Create(t.Context(), &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gears", Kind: "Gear"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range servers {
		p.awaitGroups(t, discovery.AcceptV2, []string{"example.com"}, nil)
	}
	if err := definitions.CustomResourceDefinitions().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range servers {
		p.awaitGroups(t, discovery.AcceptV2, nil, []string{"example.com"})
	}
}

// A running server with flags about peers stores in etcd the address at which its peers connect to it. A server without
// these flags stores no address.
func TestPeerIdentity(t *testing.T) {
	t.Parallel()
	servers := startPeers(t, nil, []string{"--peer-advertise-ip=192.0.2.1", "--peer-advertise-port=6443"})
	addresses := func() ([]string, error) {
		leases, err := servers[0].CoordinationV1().Leases(metav1.NamespaceSystem).List(t.Context(), metav1.ListOptions{LabelSelector: "apiserver.kubernetes.io/identity=kube-apiserver"})
		if err != nil {
			return nil, err
		}
		var addresses []string
		for _, l := range leases.Items {
			if !strings.HasPrefix(l.Name, "apiserver-") || l.Labels[corev1.LabelHostname] == "" {
				return nil, fmt.Errorf("the Lease %s has labels %v", l.Name, l.Labels)
			}
			addresses = append(addresses, l.Annotations[corev1.AnnotationPeerAdvertiseAddress])
		}
		slices.Sort(addresses)
		return addresses, nil
	}
	own := strings.TrimPrefix(servers[0].config.Host, "https://")
	expect := func(want ...string) {
		t.Helper()
		slices.Sort(want)
		servers[0].await(t, func() error {
			got, err := addresses()
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("the addresses of servers are %v, want %v", got, want)
			}
			return err
		})
	}
	expect(own, "192.0.2.1:6443")
	servers[1].signal(t, syscall.SIGTERM)
	if code, _, stderr := servers[1].exit(t); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	expect(own)

	alone := startKubeAPIServer(t, "--etcd-servers="+startEtcd(t))
	leases, err := alone.CoordinationV1().Leases(metav1.NamespaceSystem).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(leases.Items) > 0 {
		t.Error(errors.Join(err, fmt.Errorf("a server without peers has Leases: %v", leases.Items)))
	}
}
