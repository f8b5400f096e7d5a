package integration_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

func namespaceWith(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func in[T metav1.Object](namespace string, object T) T {
	object.SetNamespace(namespace)
	return object
}

// memory returns a resource list with memory alone.
func memory(quantity string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(quantity)}
}

// limited returns a function that sets the memory limit of a pod's container.
func limited(quantity string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits = memory(quantity) }
}

// The default plugins fill in fields of pods, and check pods.
func TestPluginsOfPods(t *testing.T) {
	t.Parallel()
	quota := in("counted", &corev1.ResourceQuota{ObjectMeta: named("few"), Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1"), corev1.ResourceLimitsMemory: resource.MustParse("128Mi")},
	}})
	objects := []runtime.Object{
		namespaceWith("limited", nil), namespaceWith("counted", nil),
		namespaceWith("baseline", map[string]string{"pod-security.kubernetes.io/enforce": "baseline"}),
		namespaceWith("warned", map[string]string{"pod-security.kubernetes.io/warn": "restricted"}),
		in("limited", &corev1.LimitRange{ObjectMeta: named("l"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, Default: memory("64Mi"), DefaultRequest: memory("32Mi"),
			Min: memory("16Mi"), Max: memory("128Mi"),
		}}}}),
		quota,
		&schedulingv1.PriorityClass{ObjectMeta: named("urgent"), Value: 1000, PreemptionPolicy: new(corev1.PreemptNever)},
		&nodev1.RuntimeClass{
			ObjectMeta: named("heavy"), Handler: "heavy", Overhead: &nodev1.Overhead{PodFixed: memory("8Mi")},
			Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"runtime": "heavy"}},
		},
	}
	srv := miniapitest.Start(t, miniapitest.WithObjects(objects...))
	client, seen := warned(t, srv)
	// This server has no controller of quotas, so the test writes the status that the controller would write.
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: corev1.ResourceList{
		corev1.ResourcePods: resource.MustParse("0"), corev1.ResourceLimitsMemory: resource.MustParse("0"),
	}}
	must(client.CoreV1().ResourceQuotas("counted").UpdateStatus(t.Context(), quota, metav1.UpdateOptions{}))(t)
	priority := func(p *corev1.Pod) any { return fmt.Sprintf("%d %s", *p.Spec.Priority, *p.Spec.PreemptionPolicy) }

	tests := []struct {
		name, reason string
		namespace    string // "default" if it is empty
		change       func(*corev1.Pod)
		shows        func(*corev1.Pod) any // returns the part of the created pod that the plugin changes
		want         any
		refused      string // the message of a refusal
		warns        string
	}{{
		name: "LimitRanger", reason: "the defaults of the namespace", namespace: "limited",
		shows: func(p *corev1.Pod) any {
			r := p.Spec.Containers[0].Resources
			return []string{r.Requests.Memory().String(), r.Limits.Memory().String(), p.Annotations["kubernetes.io/limit-ranger"]}
		},
		want: []string{"32Mi", "64Mi", "LimitRanger plugin set: memory request for container main; memory limit for container main"},
	}, {
		name: "LimitRanger-maximum", reason: "the maximum of the namespace", namespace: "limited",
		change: limited("1Gi"), refused: "maximum memory usage per Container is 128Mi, but limit is 1Gi",
	}, {
		name: "LimitRanger-minimum", reason: "the minimum of the namespace", namespace: "limited",
		change: limited("1Mi"), refused: "minimum memory usage per Container is 16Mi, but request is 1Mi",
	}, {
		name: "DefaultTolerationSeconds", reason: "a node that isn't ready is tolerated for five minutes",
		shows: func(p *corev1.Pod) any { return tolerated(p) },
		want:  []string{"node.kubernetes.io/not-ready:NoExecute for 300s", "node.kubernetes.io/unreachable:NoExecute for 300s"},
	}, {
		name: "DefaultTolerationSeconds-own", reason: "the pod's own toleration stays",
		change: func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{
				Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists,
				Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(1)),
			}}
		},
		shows: func(p *corev1.Pod) any { return tolerated(p) },
		want:  []string{"node.kubernetes.io/not-ready:NoExecute for 1s", "node.kubernetes.io/unreachable:NoExecute for 300s"},
	}, {
		name: "Priority", reason: "a pod without a priority class has priority 0",
		shows: priority, want: "0 PreemptLowerPriority",
	}, {
		name: "Priority-class", reason: "a pod with a priority class has the priority of the class",
		change: func(p *corev1.Pod) { p.Spec.PriorityClassName = "urgent" },
		shows:  priority, want: "1000 Never",
	}, {
		name: "Priority-unknown", reason: "the priority class must exist",
		change:  func(p *corev1.Pod) { p.Spec.PriorityClassName = "unknown" },
		refused: "no PriorityClass with name unknown was found",
	}, {
		name: "Priority-integer", reason: "users may not set the priority as a number",
		change:  func(p *corev1.Pod) { p.Spec.Priority = new(int32(7)) },
		refused: "the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name",
	}, {
		name: "RuntimeClass", reason: "the class says what the pod costs, and where it runs",
		change: func(p *corev1.Pod) { p.Spec.RuntimeClassName = new("heavy") },
		shows:  func(p *corev1.Pod) any { return fmt.Sprint(p.Spec.Overhead.Memory(), p.Spec.NodeSelector) },
		want:   "8Mi map[runtime:heavy]",
	}, {
		name: "RuntimeClass-unknown", reason: "the runtime class must exist",
		change:  func(p *corev1.Pod) { p.Spec.RuntimeClassName = new("unknown") },
		refused: `pod rejected: RuntimeClass "unknown" not found`,
	}, {
		name: "RuntimeClass-overhead", reason: "only the runtime class sets the overhead",
		change:  func(p *corev1.Pod) { p.Spec.RuntimeClassName, p.Spec.Overhead = new("heavy"), memory("1Mi") },
		refused: "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
	}, {
		name: "PodSecurity", reason: "the namespace enforces the baseline", namespace: "baseline",
		change:  func(p *corev1.Pod) { p.Spec.HostNetwork = true },
		refused: `violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)`,
	}, {
		name: "PodSecurity-warn", reason: "the namespace warns about pods that the restricted standard forbids", namespace: "warned",
		shows: func(p *corev1.Pod) any { return p.Name }, want: "podsecurity-warn",
		warns: `would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "main" must set securityContext.allowPrivilegeEscalation=false)`,
	}, {
		name: "ResourceQuota-missing", reason: "a pod needs a request for a resource that the quota limits", namespace: "counted",
		refused: "failed quota: few: must specify limits.memory for: main",
	}, {
		name: "ResourceQuota-memory", reason: "the memory of pods is limited", namespace: "counted",
		change:  limited("1Gi"),
		refused: "exceeded quota: few, requested: limits.memory=1Gi, used: limits.memory=0, limited: limits.memory=128Mi",
	}, {
		name: "ResourceQuota", reason: "a pod within the limits counts", namespace: "counted",
		change: limited("100Mi"), shows: func(*corev1.Pod) any {
			used := must(client.CoreV1().ResourceQuotas("counted").Get(t.Context(), "few", metav1.GetOptions{}))(t).Status.Used
			return fmt.Sprint(used.Pods(), " ", used.Name(corev1.ResourceLimitsMemory, resource.BinarySI))
		}, want: "1 100Mi",
	}, {
		name: "ResourceQuota-objects", reason: "the number of pods is limited", namespace: "counted",
		change: limited("1Mi"), refused: "exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1",
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := pod(strings.ToLower(test.name))
			if test.change != nil {
				test.change(p)
			}
			namespace := metav1.NamespaceDefault
			if test.namespace != "" {
				namespace = test.namespace
			}
			seen.take()
			created, err := client.CoreV1().Pods(namespace).Create(t.Context(), p, metav1.CreateOptions{})
			switch {
			case test.refused != "":
				if err == nil || !strings.Contains(err.Error(), test.refused) {
					t.Errorf("%s: want it refused with %q, got %v", test.reason, test.refused, err)
				}
			case err != nil:
				t.Errorf("%s: %v", test.reason, err)
			default:
				if diff := cmp.Diff(test.want, test.shows(created)); diff != "" {
					t.Errorf("%s: (-want +got):\n%s", test.reason, diff)
				}
			}
			if warnings := seen.take(); !strings.Contains(strings.Join(warnings, "\n"), test.warns) {
				t.Errorf("%s: want the warning %q, got %q", test.reason, test.warns, warnings)
			}
		})
	}
}

func tolerated(p *corev1.Pod) []string {
	var tolerated []string
	for _, toleration := range p.Spec.Tolerations {
		tolerated = append(tolerated, fmt.Sprintf("%s:%s for %ds", toleration.Key, toleration.Effect, *toleration.TolerationSeconds))
	}
	slices.Sort(tolerated)
	return tolerated
}

// An object without a class gets the cluster's default class.
func TestPluginsOfDefaultClasses(t *testing.T) {
	t.Parallel()
	client := miniapitest.Start(t).Client()
	isDefault := map[string]string{"storageclass.kubernetes.io/is-default-class": "true", networkingv1.AnnotationIsDefaultIngressClass: "true"}
	name := func(class *string) string {
		if class == nil {
			return "none"
		}
		return *class
	}
	for _, step := range []struct {
		name, reason string
		class        string // the class that is created before the object
		annotations  map[string]string
		asks         *string
		want         string
	}{
		{name: "none", reason: "the class doesn't exist", want: "none"},
		{name: "plain", reason: "a class without the annotation isn't the default", class: "plain", want: "none"},
		{name: "default", reason: "the default", class: "usual", annotations: isDefault, want: "usual"},
		{name: "named", reason: "a class that the claim names stays", asks: new("plain"), want: "plain"},
	} {
		if step.class != "" {
			meta := metav1.ObjectMeta{Name: step.class, Annotations: step.annotations}
			must(client.StorageV1().StorageClasses().Create(t.Context(), &storagev1.StorageClass{ObjectMeta: meta, Provisioner: "example.com/p"}, metav1.CreateOptions{}))(t)
			must(client.NetworkingV1().IngressClasses().Create(t.Context(), &networkingv1.IngressClass{
				ObjectMeta: meta, Spec: networkingv1.IngressClassSpec{Controller: "example.com/c"},
			}, metav1.CreateOptions{}))(t)
		}
		c, i := claim(step.name), ingress(step.name)
		c.Spec.StorageClassName, i.Spec.IngressClassName = step.asks, step.asks
		c = must(client.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault).Create(t.Context(), c, metav1.CreateOptions{}))(t)
		i = must(client.NetworkingV1().Ingresses(metav1.NamespaceDefault).Create(t.Context(), i, metav1.CreateOptions{}))(t)
		if storage, network := name(c.Spec.StorageClassName), name(i.Spec.IngressClassName); storage != step.want || network != step.want {
			t.Errorf("%s: %s: want %q, got the storage class %q and the ingress class %q", step.name, step.reason, step.want, storage, network)
		}
	}
}

// Volumes and claims in use aren't deleted, because a plugin adds a finalizer, which a controller removes later. A
// claim can become larger only if its class allows it.
func TestPluginsOfVolumes(t *testing.T) {
	t.Parallel()
	client := miniapitest.Start(t, miniapitest.WithObjects(
		&storagev1.StorageClass{ObjectMeta: named("fixed"), Provisioner: "example.com/p"},
		&storagev1.StorageClass{ObjectMeta: named("growing"), Provisioner: "example.com/p", AllowVolumeExpansion: new(true)},
	)).Client()
	volume := must(client.CoreV1().PersistentVolumes().Create(t.Context(), &corev1.PersistentVolume{ObjectMeta: named("v"), Spec: corev1.PersistentVolumeSpec{
		AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/v"}},
	}}, metav1.CreateOptions{}))(t)
	if diff := cmp.Diff([]string{"kubernetes.io/pv-protection"}, volume.Finalizers); diff != "" {
		t.Errorf("finalizers of a volume (-want +got):\n%s", diff)
	}

	claims := client.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault)
	for class, refusal := range map[string]string{
		"growing": "",
		"fixed":   "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
	} {
		c := claim(class)
		c.Spec.StorageClassName, c.Spec.VolumeName = &class, "v"
		created := must(claims.Create(t.Context(), c, metav1.CreateOptions{}))(t)
		if diff := cmp.Diff([]string{"kubernetes.io/pvc-protection"}, created.Finalizers); diff != "" {
			t.Errorf("finalizers of a claim (-want +got):\n%s", diff)
		}
		created.Status.Phase = corev1.ClaimBound
		must(claims.UpdateStatus(t.Context(), created, metav1.UpdateOptions{}))(t)
		_, err := claims.Patch(t.Context(), class, types.MergePatchType, []byte(`{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`), metav1.PatchOptions{})
		if refused := err != nil; refused != (refusal != "") || !strings.Contains(fmt.Sprint(err), refusal) {
			t.Errorf("a claim of class %s: want the refusal %q, got %v", class, refusal, err)
		}
	}
}

// A quota counts the storage and the devices that claims request, and refuses a claim for more than the rest.
func TestQuotasOfClaims(t *testing.T) {
	t.Parallel()
	client := miniapitest.Start(t, miniapitest.WithObjects(&storagev1.StorageClass{ObjectMeta: named("fast"), Provisioner: "example.com/p"})).Client()
	volume := func(class string) func(context.Context, string, string) error {
		return func(ctx context.Context, namespace, name string) error {
			c := claim(name)
			c.Spec.StorageClassName = &class
			_, err := client.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, c, metav1.CreateOptions{})
			return err
		}
	}
	devices := func(ctx context.Context, namespace, name string) error {
		_, err := client.ResourceV1().ResourceClaims(namespace).Create(ctx, &resourcev1.ResourceClaim{ObjectMeta: named(name), Spec: resourcev1.ResourceClaimSpec{
			Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
				Name:    "r",
				Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 2},
			}}},
		}}, metav1.CreateOptions{})
		return err
	}
	for _, tc := range []struct {
		name, reason string
		counted      corev1.ResourceName
		hard         string
		first        string // the usage of the first claim
		create       func(ctx context.Context, namespace, name string) error
		refused      bool // whether the second claim is refused
	}{
		{"storage", "the second claim would exceed the storage of the quota", "requests.storage", "1Gi", "1Gi", volume("fast"), true},
		{"claims", "each claim counts as one", "persistentvolumeclaims", "1", "1", volume("fast"), true},
		{"class", "a class has a quota of its own", "fast.storageclass.storage.k8s.io/requests.storage", "1Gi", "1Gi",
			volume("fast"), true},
		{"other-class", "the quota is of another class", "slow.storageclass.storage.k8s.io/requests.storage", "0", "0",
			volume("fast"), false},
		{"devices", "a claim requests two devices", "gpu.deviceclass.resource.k8s.io/devices", "3", "2", devices, true},
		{"other-devices", "the quota is of another class", "nic.deviceclass.resource.k8s.io/devices", "0", "0", devices, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			must(client.CoreV1().Namespaces().Create(t.Context(), namespaceWith(tc.name, nil), metav1.CreateOptions{}))(t)
			hard := corev1.ResourceList{tc.counted: resource.MustParse(tc.hard)}
			quotas := client.CoreV1().ResourceQuotas(tc.name)
			quota := must(quotas.Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: named("q"), Spec: corev1.ResourceQuotaSpec{Hard: hard}}, metav1.CreateOptions{}))(t)
			// This server has no controller of quotas, so the test writes the status that the controller would write.
			quota.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: corev1.ResourceList{tc.counted: resource.MustParse("0")}}
			must(quotas.UpdateStatus(t.Context(), quota, metav1.UpdateOptions{}))(t)
			ok(t, tc.create(t.Context(), tc.name, "first"))
			used := must(quotas.Get(t.Context(), "q", metav1.GetOptions{}))(t).Status.Used[tc.counted]
			if used.String() != tc.first {
				t.Errorf("%s: want %s used, got %s", tc.reason, tc.first, used.String())
			}
			err := tc.create(t.Context(), tc.name, "second")
			if refused := strings.Contains(fmt.Sprint(err), "exceeded quota: q"); refused != tc.refused || !refused && err != nil {
				t.Errorf("%s: refused: want %t, got %v", tc.reason, tc.refused, err)
			}
		})
	}
}

// A new node has the taint "not ready", so that no pod is placed on it too early. A pod that is bound to a node gets
// the node's topology labels. The pod can be resized up to the capacity of the node.
func TestPluginsOfNodes(t *testing.T) {
	t.Parallel()
	client := miniapitest.Start(t).Client()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelTopologyZone: "z", "other": "o"}}}
	created := must(client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}))(t)
	if diff := cmp.Diff([]corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}, created.Spec.Taints); diff != "" {
		t.Errorf("TaintNodesByCondition: taints (-want +got):\n%s", diff)
	}
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	small := pod("p")
	small.Labels = map[string]string{corev1.LabelTopologyZone: "elsewhere"}
	small.Spec.Containers[0].Resources.Requests = memory("64Mi")
	must(pods.Create(t.Context(), small, metav1.CreateOptions{}))(t)
	ok(t, pods.Bind(t.Context(), &corev1.Binding{ObjectMeta: named("p"), Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}, metav1.CreateOptions{}))
	bound := must(pods.Get(t.Context(), "p", metav1.GetOptions{}))(t)
	if diff := cmp.Diff(map[string]string{corev1.LabelTopologyZone: "z"}, bound.Labels); diff != "" {
		t.Errorf("PodTopologyLabels: labels (-want +got):\n%s", diff)
	}
	must(pods.Create(t.Context(), pod("r"), metav1.CreateOptions{}))(t)
	if err := pods.Bind(t.Context(), &corev1.Binding{ObjectMeta: named("r"), Target: corev1.ObjectReference{Kind: "Node", Name: "absent"}}, metav1.CreateOptions{}); err != nil {
		t.Errorf("PodTopologyLabels: a node that isn't there has no labels: %v", err)
	}
	bound.Spec.Containers[0].Resources.Requests = memory("128Mi")
	_, err := pods.UpdateResize(t.Context(), "p", bound, metav1.UpdateOptions{})
	const want = `pods "p" is forbidden: node didn't have enough allocatable resources: memory, requested: 134217728, allocatable: 0`
	if diff := cmp.Diff(want, statusOf(err).Message); diff != "" {
		t.Errorf("PodResizeValidator: refusal (-want +got):\n%s", diff)
	}

	whole := pod("q")
	whole.Spec.NodeName, whole.Spec.Resources = "n", &corev1.ResourceRequirements{Limits: memory("64Mi")}
	whole = must(pods.Create(t.Context(), whole, metav1.CreateOptions{}))(t)
	whole.Spec.Resources.Limits = memory("128Mi")
	_, err = pods.UpdateResize(t.Context(), "q", whole, metav1.UpdateOptions{})
	const wantFeature = `pods "q" is forbidden: pod update requires features InPlacePodLevelResourcesVerticalScaling which are not available on node "n"`
	if diff := cmp.Diff(wantFeature, statusOf(err).Message); diff != "" {
		t.Errorf("NodeDeclaredFeatureValidator: refusal (-want +got):\n%s", diff)
	}
}

// The namespaces default, kube-system and kube-public can't be deleted.
func TestPluginsOfNamespaces(t *testing.T) {
	t.Parallel()
	client := miniapitest.Start(t).Client()
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic} {
		err := client.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{})
		want := `namespaces "` + name + `" is forbidden: this namespace may not be deleted`
		if diff := cmp.Diff(want, statusOf(err).Message); diff != "" {
			t.Errorf("refusal (-want +got):\n%s", diff)
		}
	}
}
