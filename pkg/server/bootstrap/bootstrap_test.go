package bootstrap

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// authority is a certificate authority whose content is no valid certificate. No test parses the content.
type authority struct {
	dynamiccertificates.CAContentProvider
	pem string
}

func (a authority) CurrentCABundleContent() []byte { return []byte(a.pem) }

func testConfig() Config {
	return Config{
		ServiceCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.7/16"), netip.MustParsePrefix("fd00::/108")},
		SecurePort:   6443,
		Endpoints:    []netip.Addr{netip.MustParseAddr("192.0.2.1")},
		ClientCA:     authority{pem: "client"},
		RequestHeader: &authenticatorfactory.RequestHeaderConfig{
			CAContentProvider: authority{pem: "proxy"},
			UsernameHeaders:   headerrequest.StaticStringSlice{"X-Remote-User"}, UIDHeaders: headerrequest.StaticStringSlice{},
			GroupHeaders: headerrequest.StaticStringSlice{"X-Remote-Group"}, ExtraHeaderPrefixes: headerrequest.StaticStringSlice{"X-Remote-Extra-"},
			AllowedClientNames: headerrequest.StaticStringSlice{"front", "proxy"},
		},
	}
}

func writes(client *fake.Clientset) (verbs []string) {
	for _, action := range client.Actions() {
		if verb := action.GetVerb(); verb != "list" && verb != "get" {
			verbs = append(verbs, verb+" "+action.GetResource().Resource)
		}
	}
	return verbs
}

func TestEnsure(t *testing.T) {
	t.Parallel()

	client, config := fake.NewClientset(), testConfig()
	if err := Ensure(t.Context(), client, config); err != nil {
		t.Fatal(err)
	}
	objects, err := Objects(config)
	if err != nil {
		t.Fatal(err)
	}
	// Ensure also writes the Service, and the statuses of the ServiceCIDR and of the flow schemas.
	if got, want := len(writes(client)), len(objects)+2+len(FlowSchemas()); got != want {
		t.Errorf("%d writes in an empty cluster, want %d", got, want)
	}
	service, err := client.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil || service.Spec.ClusterIP != "10.0.0.1" || service.Spec.Ports[0].TargetPort.IntValue() != 6443 {
		t.Errorf("service %+v, %v", service, err)
	}
	trust, err := client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), authenticationConfigMap, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"client-ca-file": "client", "requestheader-client-ca-file": "proxy",
		"requestheader-username-headers": `["X-Remote-User"]`, "requestheader-group-headers": `["X-Remote-Group"]`,
		"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`, "requestheader-allowed-names": `["front","proxy"]`,
	}
	if diff := cmp.Diff(want, trust.Data); diff != "" {
		t.Errorf("%s (-want +got):\n%s", authenticationConfigMap, diff)
	}

	client.ClearActions()
	if err := Ensure(t.Context(), client, config); err != nil {
		t.Fatal(err)
	}
	if got := writes(client); len(got) != 0 {
		t.Errorf("the second time writes %v, want nothing", got)
	}
	config.RequestHeader = nil // a server gets its front proxy certificate only when an APIService needs it
	if err := Ensure(t.Context(), client, config); err != nil {
		t.Fatal(err)
	}
	if got := writes(client); len(got) != 0 {
		t.Errorf("without a front proxy, %v is written, want what was told of it to stay", got)
	}
}

func TestReconcile(t *testing.T) {
	t.Parallel()

	extra := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"x.example"}, Resources: []string{"things"}}
	stranger := rbacv1.Subject{Kind: "User", Name: "ann", APIGroup: rbacv1.GroupName}
	for _, test := range []struct {
		name   string
		change func(role *rbacv1.ClusterRole, binding *rbacv1.ClusterRoleBinding)
		rules  int
		names  []string
		reason string
	}{
		{
			"taken", func(role *rbacv1.ClusterRole, binding *rbacv1.ClusterRoleBinding) {
				role.Rules, binding.Subjects = nil, nil
			},
			3, []string{"system:authenticated"}, "Ensure restores removed subjects, and removed rules as one rule for each resource",
		},
		{
			"added", func(role *rbacv1.ClusterRole, binding *rbacv1.ClusterRoleBinding) {
				role.Rules, binding.Subjects = append(role.Rules, extra), append(binding.Subjects, stranger)
			}, 3, []string{"system:authenticated", "ann"}, "what was added stays",
		},
		{
			"protected", func(role *rbacv1.ClusterRole, binding *rbacv1.ClusterRoleBinding) {
				role.Rules, role.Annotations = nil, map[string]string{rbacv1.AutoUpdateAnnotationKey: "false"}
				binding.Subjects, binding.Annotations = nil, map[string]string{rbacv1.AutoUpdateAnnotationKey: "false"}
			}, 0, nil, "the annotation keeps it as it is",
		},
		{
			"other role", func(_ *rbacv1.ClusterRole, binding *rbacv1.ClusterRoleBinding) {
				binding.RoleRef.Name, binding.Subjects = "cluster-admin", []rbacv1.Subject{stranger}
			}, 2, []string{"system:authenticated"}, "a roleRef can't be changed, so Ensure creates the binding again",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const name = "system:basic-user"
			var role *rbacv1.ClusterRole
			for _, r := range ClusterRoles() {
				if r.Name == name {
					role = r
				}
			}
			binding := bindCluster(name, groupSubject("system:authenticated"))
			test.change(role, binding)
			client := fake.NewClientset(role, binding)
			if err := Ensure(t.Context(), client, Config{}); err != nil {
				t.Fatal(err)
			}
			gotRole, err := client.RbacV1().ClusterRoles().Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || len(gotRole.Rules) != test.rules {
				t.Errorf("rules %v, %v, want %d: %s", gotRole.Rules, err, test.rules, test.reason)
			}
			gotBinding, err := client.RbacV1().ClusterRoleBindings().Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || gotBinding.RoleRef.Name != name {
				t.Fatalf("binding %v, %v: %s", gotBinding, err, test.reason)
			}
			var names []string
			for _, subject := range gotBinding.Subjects {
				names = append(names, subject.Name)
			}
			if diff := cmp.Diff(test.names, names); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// TestRace checks that two servers can start on the same empty etcd.
func TestRace(t *testing.T) {
	t.Parallel()

	client, config := fake.NewClientset(), testConfig()
	var lost atomic.Bool
	client.PrependReactor("create", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
		if lost.Swap(true) {
			return false, nil, nil
		}
		// This is the API server's error while another server starts: the other server has allocated the address,
		// and hasn't created its Service yet.
		path := field.NewPath("spec", "clusterIPs").Index(0)
		return true, nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), "kubernetes",
			field.ErrorList{field.Invalid(path, "10.0.0.1", "failed to allocate IP 10.0.0.1: provided IP is already allocated")})
	})
	if err := Ensure(t.Context(), client, config); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{}); err != nil || !lost.Load() {
		t.Errorf("service: %v, after a race: %t", err, lost.Load())
	}

	invalid := fake.NewClientset()
	invalid.PrependReactor("create", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), "kubernetes", nil)
	})
	if err := Ensure(t.Context(), invalid, config); err == nil || utilerrors.FilterOut(err, apierrors.IsInvalid) != nil {
		t.Errorf("error %v, want that the service is invalid: it isn't a race", err)
	}
}

func TestNewAddress(t *testing.T) {
	t.Parallel()

	client, config := fake.NewClientset(), testConfig()
	if err := Ensure(t.Context(), client, config); err != nil {
		t.Fatal(err)
	}
	config.Endpoints, config.SecurePort = []netip.Addr{netip.MustParseAddr("2001:db8::1")}, 7443
	if err := Ensure(t.Context(), client, config); err != nil {
		t.Fatal(err)
	}
	endpoints, err := client.CoreV1().Endpoints("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil || endpoints.Subsets[0].Addresses[0].IP != "2001:db8::1" || endpoints.Subsets[0].Ports[0].Port != 7443 {
		t.Errorf("endpoints %+v, %v", endpoints, err)
	}
	slice, err := client.DiscoveryV1().EndpointSlices("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil || slice.AddressType != "IPv6" || slice.Endpoints[0].Addresses[0] != "2001:db8::1" {
		t.Errorf("endpoint slice %+v, %v", slice, err)
	}

	// This server has no endpoints, as with a loopback address or with --endpoint-reconciler-type=none.
	bare := fake.NewClientset()
	config.Endpoints = nil
	if err := Ensure(t.Context(), bare, config); err != nil {
		t.Fatal(err)
	}
	if _, err := bare.CoreV1().Endpoints("default").Get(t.Context(), "kubernetes", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("endpoints without an address: %v", err)
	}
}

// TestUnserved checks that Ensure makes requests only for the core group if the server serves none of the other groups.
func TestUnserved(t *testing.T) {
	t.Parallel()

	config := testConfig()
	config.Served = func(schema.GroupVersionResource) bool { return false }
	client := fake.NewClientset()
	if err := Ensure(t.Context(), client, config); err != nil {
		t.Fatal(err)
	}
	objects, err := Objects(config)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(writes(client)), len(objects); got != want {
		t.Errorf("%d writes, want %d", got, want)
	}
	for _, action := range client.Actions() {
		if group := action.GetResource().Group; group != "" {
			t.Errorf("%s %s: want nothing but the core group", action.GetVerb(), action.GetResource())
		}
	}
}

// TestFlowControl checks that the priority level of every flow schema exists, and that the status of the schema names
// the level and says that it isn't missing.
func TestFlowControl(t *testing.T) {
	t.Parallel()

	levels := sets.New[string]()
	for _, level := range PriorityLevelConfigurations() {
		levels.Insert(level.Name)
	}
	for _, flows := range FlowSchemas() {
		level := flows.Spec.PriorityLevelConfiguration.Name
		if conditions := flows.Status.Conditions; !levels.Has(level) || len(conditions) != 1 || conditions[0].Status != "False" ||
			!strings.Contains(conditions[0].Message, strconv.Quote(level)) {
			t.Errorf("flow schema %s of level %s: conditions %v, levels %v", flows.Name, level, conditions, sets.List(levels))
		}
	}
}

// TestReconcileFlowControl checks which spec a suggested flow schema or priority level has after Ensure. If the
// server maintains the object, Ensure restores the default spec. If a user maintains the object, the user's spec
// stays.
func TestReconcileFlowControl(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name        string
		annotations map[string]string
		generation  int64
		restored    bool
		reason      string
	}{
		{"the server's", map[string]string{flowcontrolv1.AutoUpdateAnnotationKey: "true"}, 2, true, "with the annotation, the server maintains the object"},
		{"the operator's", map[string]string{flowcontrolv1.AutoUpdateAnnotationKey: "false"}, 1, false, "with the annotation, the object stays unchanged"},
		{"never changed", nil, 1, true, "an earlier server has created this spec"},
		{"changed", nil, 2, false, "a user has changed an object without the owner's annotation"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const name = "global-default" // the flow schema and the priority level have the same name
			level, schema := named(PriorityLevelConfigurations(), name), named(FlowSchemas(), name)
			shares, precedence := *level.Spec.Limited.NominalConcurrencyShares, schema.Spec.MatchingPrecedence
			level.Annotations, schema.Annotations = test.annotations, test.annotations
			level.Generation, schema.Generation = test.generation, test.generation
			level.Spec.Limited.NominalConcurrencyShares, schema.Spec.MatchingPrecedence = new(shares+1), precedence+1
			client := fake.NewClientset(level, schema)
			if err := Ensure(t.Context(), client, Config{}); err != nil {
				t.Fatal(err)
			}
			gotLevel, err := client.FlowcontrolV1().PriorityLevelConfigurations().Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || (*gotLevel.Spec.Limited.NominalConcurrencyShares == shares) != test.restored {
				t.Errorf("level %v, %v, want restored %v: %s", gotLevel, err, test.restored, test.reason)
			}
			gotSchema, err := client.FlowcontrolV1().FlowSchemas().Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || (gotSchema.Spec.MatchingPrecedence == precedence) != test.restored {
				t.Errorf("schema %v, %v, want restored %v: %s", gotSchema, err, test.restored, test.reason)
			}
		})
	}
}

func named[P metav1.Object](objects []P, name string) P {
	return objects[slices.IndexFunc(objects, func(object P) bool { return object.GetName() == name })]
}

// TestBindings checks that the roles of all bindings exist. It also checks that Objects returns each namespace before
// the objects in the namespace.
func TestBindings(t *testing.T) {
	t.Parallel()

	roles := sets.New[string]()
	for _, role := range ClusterRoles() {
		if roles.Has(role.Name) {
			t.Errorf("cluster role %s is there twice", role.Name)
		}
		roles.Insert(role.Name)
	}
	for _, role := range Roles() {
		roles.Insert(role.Namespace + "/" + role.Name)
	}
	for _, binding := range ClusterRoleBindings() {
		if !roles.Has(binding.RoleRef.Name) {
			t.Errorf("cluster role binding %s names a role that there is not", binding.Name)
		}
	}
	for _, binding := range RoleBindings() {
		if !roles.Has(binding.Namespace + "/" + binding.RoleRef.Name) {
			t.Errorf("role binding %s/%s names a role that there is not", binding.Namespace, binding.Name)
		}
	}

	objects, err := Objects(testConfig())
	if err != nil {
		t.Fatal(err)
	}
	made := sets.New[string]()
	for _, object := range objects {
		namespace := object.(metav1.Object).GetNamespace()
		if namespace != "" && !made.Has(namespace) {
			t.Errorf("%s comes before its namespace %s", object.(metav1.Object).GetName(), namespace)
		}
		if ns, ok := object.(*corev1.Namespace); ok {
			made.Insert(ns.Name)
		}
	}
}

// TestAggregatedRoles checks the roles that Objects returns. With Config.Aggregated, each role with an aggregationRule
// has the rules that a controller would write. The other roles don't depend on Config.Aggregated.
func TestAggregatedRoles(t *testing.T) {
	t.Parallel()
	rules := func(aggregated bool) map[string][]rbacv1.PolicyRule {
		t.Helper()
		config := testConfig()
		config.Aggregated = aggregated
		objects, err := Objects(config)
		if err != nil {
			t.Fatal(err)
		}
		of := map[string][]rbacv1.PolicyRule{}
		for _, object := range objects {
			if role, ok := object.(*rbacv1.ClusterRole); ok {
				of[role.Name] = role.Rules
			}
		}
		return of
	}
	filled, plain := rules(true), rules(false)
	parts := map[string][]string{
		"view":  {"system:aggregate-to-view"},
		"edit":  {"system:aggregate-to-edit", "system:aggregate-to-view"},
		"admin": {"system:aggregate-to-edit", "system:aggregate-to-view", "system:aggregate-to-admin"},
	}
	for name, rules := range plain {
		var want []rbacv1.PolicyRule
		for _, part := range parts[name] {
			want = append(want, plain[part]...)
		}
		if parts[name] == nil {
			want = rules
		} else if len(rules) > 0 {
			t.Errorf("%s: without the controller, the role has rules: %v", name, rules)
		}
		if diff := cmp.Diff(want, filled[name], cmp.Transformer("sort", func(rules []rbacv1.PolicyRule) []string {
			var sorted []string
			for _, rule := range rules {
				sorted = append(sorted, rule.String())
			}
			slices.Sort(sorted)
			return sorted
		})); diff != "" {
			t.Errorf("%s: the rules differ (-want +got):\n%s", name, diff)
		}
	}
}

// A server that starts with a second range of cluster IPs adds the range to the stored ServiceCIDR. Other changes of the
// ranges don't change the ServiceCIDR.
func TestSecondRange(t *testing.T) {
	t.Parallel()
	const v4, v6, other = "10.0.0.0/16", "fd00::/108", "10.1.0.0/16"
	for _, test := range []struct {
		name, reason       string
		stored, wish, want []string
	}{
		{"second range", "the cluster becomes dual-stack", []string{v4}, []string{v4, v6}, []string{v4, v6}},
		{"same range", "nothing changes", []string{v4}, []string{v4}, []string{v4}},
		{"another range", "the stored range may be in use", []string{v4}, []string{other, v6}, []string{v4}},
		{"only one range", "the stored second range may be in use", []string{v4, v6}, []string{v4}, []string{v4, v6}},
	} {
		config := testConfig()
		ranges := func(cidrs []string) (prefixes []netip.Prefix) {
			for _, cidr := range cidrs {
				prefixes = append(prefixes, netip.MustParsePrefix(cidr))
			}
			return prefixes
		}
		config.ServiceCIDRs = ranges(test.stored)
		client := fake.NewClientset(config.serviceCIDR())
		config.ServiceCIDRs = ranges(test.wish)
		if err := ensureServiceCIDR(t.Context(), client, config.serviceCIDR()); err != nil {
			t.Fatal(err)
		}
		got, err := client.NetworkingV1().ServiceCIDRs().Get(t.Context(), config.serviceCIDR().Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got.Spec.CIDRs); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.name, test.reason, diff)
		}
	}
}
