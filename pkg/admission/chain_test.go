package admission

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/compatibility"

	"github.com/miniapi-dev/miniapi/pkg/admission/services"
	"github.com/miniapi-dev/miniapi/pkg/registry/features"
	"github.com/miniapi-dev/miniapi/pkg/storage/informer"
)

// The barrier holds the write of a policy until the policy is in force, so the policy applies to the next
// request. k8s.io/apiserver would look for new policies only once a second.
func TestPolicyInForce(t *testing.T) {
	t.Parallel()
	server := newFakeServer(t, "ValidatingAdmissionPolicy")
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "no-secrets"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			ParamKind: &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"},
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
				MatchPolicy: new(admissionregistrationv1.Equivalent),
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
						Resources: []string{"secrets"}},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression:        "object.metadata.name != params.data.name",
				MessageExpression: "'not ' + params.data.name",
			}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "no-secrets"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "no-secrets",
			ParamRef: &admissionregistrationv1.ParamRef{Namespace: "default", Name: "forbidden",
				ParameterNotFoundAction: new(admissionregistrationv1.DenyAction)},
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	params := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "forbidden"}, Data: map[string]string{"name": "a"}}

	server.wantSecret("a", "")
	server.write("configmaps", params)
	server.write("validatingadmissionpolicies", policy)
	server.wantSecret("a", "") // a policy without a binding has no effect
	server.write("validatingadmissionpolicybindings", binding)
	server.wantSecret("a", "failed to find resource referenced by paramKind")
	server.mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	server.informers.ResourcesChanged()
	server.wantSecret("a", "not a")
	server.wantSecret("b", "")

	params.Data = map[string]string{"name": "b"}
	server.write("configmaps", params)
	server.wantSecret("a", "")
	server.wantSecret("b", "not b")

	policy.Spec.Validations[0] = admissionregistrationv1.Validation{Expression: "false", Message: "nothing"}
	server.write("validatingadmissionpolicies", policy)
	server.wantSecret("c", "nothing")
}

// fakeServer is a chain with a client that stores objects. It serves no HTTP.
type fakeServer struct {
	*testing.T
	client    *fake.Clientset
	barrier   *informer.Barrier
	informers *informer.Factory
	// mapper has no resources until a test adds some.
	mapper  *meta.DefaultRESTMapper
	chain   admission.Interface
	version atomic.Int64
}

func newFakeServer(t *testing.T, plugins ...string) *fakeServer {
	t.Helper()
	s := &fakeServer{T: t, client: fake.NewClientset(), barrier: informer.NewBarrier(t.Context())}
	informers := informer.NewFactory(s.client, s.barrier, nil)
	s.informers = informers
	s.mapper = meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion})

	options := NewOptions()
	options.Only = plugins
	var err error
	s.chain, err = New(options, Dependencies{
		Client:           s.client,
		DynamicClient:    dynamicfake.NewSimpleDynamicClient(scheme.Scheme),
		Informers:        informers,
		Authorizer:       authorizerfactory.NewAlwaysAllowAuthorizer(),
		RESTMapper:       s.mapper,
		FeatureGates:     features.Default(),
		EffectiveVersion: compatibility.NewEffectiveVersionFromString("1.37", "1.36", "1.36"),
		TypeConverter:    managedfields.NewDeducedTypeConverter(),
		Services:         services.NewResolver(options.Services, s.client, informers),
		WebhookAuth:      services.NewAuthentication(options.Services, nil, &rest.Config{}, nil, nil),
		Drained:          t.Context().Done(),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.write("namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	informers.StartWithContext(t.Context())
	if err := informers.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// write stores an object and waits for the barrier.
func (s *fakeServer) write(resource string, obj runtime.Object) {
	s.Helper()
	gvr := s.prepare(resource, obj)
	accessor, _ := meta.Accessor(obj)
	tracker := s.client.Tracker()
	_, err := tracker.Get(gvr, accessor.GetNamespace(), accessor.GetName())
	if err != nil {
		err = tracker.Create(gvr, obj.DeepCopyObject(), accessor.GetNamespace())
	} else {
		err = tracker.Update(gvr, obj.DeepCopyObject(), accessor.GetNamespace())
	}
	if err != nil {
		s.Fatal(err)
	}
	s.barrier.Wait(s.Context(), gvr.GroupResource(), obj)
}

// prepare gives the object the next resourceVersion, and returns the resource with its group and version.
func (s *fakeServer) prepare(resource string, obj runtime.Object) schema.GroupVersionResource {
	s.Helper()
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		s.Fatal(err)
	}
	accessor, _ := meta.Accessor(obj)
	accessor.SetResourceVersion(strconv.FormatInt(s.version.Add(1), 10))
	return kinds[0].GroupVersion().WithResource(resource)
}

// wantSecret runs the chain for the creation of a secret. The error must contain want. If want is empty, the chain must
// admit the secret.
func (s *fakeServer) wantSecret(name, want string) {
	s.Helper()
	err := s.admit("secrets", "Secret", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
	switch {
	case want == "" && err != nil:
		s.Errorf("secret %q: %v", name, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		s.Errorf("secret %q: error %v, want one with %q", name, err, want)
	}
}

// admit runs the chain for a request that creates an object of the core group.
func (s *fakeServer) admit(resource, kind string, obj metav1.Object) error {
	gv := corev1.SchemeGroupVersion
	attributes := admission.NewAttributesRecord(obj.(runtime.Object), nil, gv.WithKind(kind), obj.GetNamespace(), obj.GetName(), gv.WithResource(resource), "",
		admission.Create, &metav1.CreateOptions{}, false, &user.DefaultInfo{Name: "test"})
	objects := admission.NewObjectInterfacesFromScheme(scheme.Scheme)
	if err := s.chain.(admission.MutationInterface).Admit(s.Context(), attributes, objects); err != nil {
		return err
	}
	return s.chain.(admission.ValidationInterface).Validate(s.Context(), attributes, objects)
}

// A pod passes all plugins that are on by default, and a mutating policy changes it.
func TestDefaultChain(t *testing.T) {
	t.Parallel()
	server := newFakeServer(t)
	server.write("mutatingadmissionpolicies", &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "label"},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
				MatchPolicy: new(admissionregistrationv1.Equivalent),
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
						Resources: []string{"pods"}},
				}}},
			},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeJSONPatch,
				JSONPatch: &admissionregistrationv1.JSONPatch{Expression: `[JSONPatch{op: "add", path: "/metadata/labels", value: {"priority": string(object.spec.priority)}}]`},
			}},
		},
	})
	server.write("mutatingadmissionpolicybindings", &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "label"},
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: "label"},
	})

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
	if err := server.admit("pods", "Pod", pod); err != nil {
		t.Fatal(err)
	}
	tolerates := func(key string) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", Labels: map[string]string{"priority": "0"}},
		Spec: corev1.PodSpec{
			Containers:       []corev1.Container{{Name: "c"}},
			Priority:         new(int32(0)),
			PreemptionPolicy: new(corev1.PreemptLowerPriority),
			Tolerations:      []corev1.Toleration{tolerates("node.kubernetes.io/not-ready"), tolerates("node.kubernetes.io/unreachable")},
		},
	}
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	pod.Namespace = "gone"
	if err := server.admit("pods", "Pod", pod); err == nil || !strings.Contains(err.Error(), `namespaces "gone" not found`) {
		t.Errorf("a pod in a namespace that doesn't exist: error %v", err)
	}
}
