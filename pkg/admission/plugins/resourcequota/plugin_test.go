package resourcequota

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	quota "k8s.io/apiserver/pkg/quota/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

// list abbreviates the name of the function in test tables.
var list = plugintest.Resources

func pod(requests, limits corev1.ResourceList) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}},
	}}}
}

// asWhole sets spec.resources, the requests and limits of the whole pod, and returns the pod.
func asWhole(pod *corev1.Pod, requests, limits corev1.ResourceList) *corev1.Pod {
	pod.Spec.Resources = &corev1.ResourceRequirements{Requests: requests, Limits: limits}
	return pod
}

func withDeadline(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.ActiveDeadlineSeconds = new(int64(60))
	return pod
}

func withInit(pod *corev1.Pod, names ...string) *corev1.Pod {
	for _, name := range names {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: name})
	}
	return pod
}

func volumeClaim(change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	change(claim)
	return claim
}

func deviceClaim(requests ...resourcev1.DeviceRequest) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: requests}}}
}

func devices(class string, count int64) resourcev1.DeviceRequest {
	return resourcev1.DeviceRequest{Name: class, Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count}}
}

// evaluatorFor returns the evaluator of a resource, from Configuration.
func evaluatorFor(t *testing.T, name string) quota.Evaluator {
	t.Helper()
	for _, e := range Configuration(nil).Evaluators() {
		if e.GroupResource().String() == name {
			return e
		}
	}
	t.Fatalf("no evaluator counts %s", name)
	return nil
}

func TestPlugin(t *testing.T) {
	t.Parallel()
	stored := pod(list("cpu", "1"), nil)
	stored.ResourceVersion = "1"
	quotaOf := func(hard, used corev1.ResourceList, scopes ...corev1.ResourceQuotaScope) *corev1.ResourceQuota {
		return &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "q"},
			Spec:       corev1.ResourceQuotaSpec{Hard: hard, Scopes: scopes},
			Status:     corev1.ResourceQuotaStatus{Hard: hard, Used: used},
		}
	}
	tests := []struct {
		name, reason, refusal string
		quota                 *corev1.ResourceQuota
		request               plugintest.Request
	}{{
		name:    "within",
		reason:  "the quota allows one more pod",
		quota:   quotaOf(list("pods", "2", "requests.cpu", "1"), list("pods", "1", "requests.cpu", "500m")),
		request: plugintest.Create(pod(list("cpu", "500m"), nil)),
	}, {
		name:    "exceeded",
		reason:  "the error has the requested, the used and the allowed amounts",
		quota:   quotaOf(list("pods", "2", "requests.cpu", "1"), list("pods", "1", "requests.cpu", "600m")),
		request: plugintest.Create(pod(list("cpu", "500m"), nil)),
		refusal: "exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1",
	}, {
		name:    "nothing said",
		reason:  "a pod that is limited must set its resources",
		quota:   quotaOf(list("requests.cpu", "1", "limits.memory", "1Gi"), list("requests.cpu", "0", "limits.memory", "0")),
		request: plugintest.Create(pod(nil, nil)),
		refusal: "failed quota: q: must specify limits.memory for: c; requests.cpu for: c",
	}, {
		name:    "not measured yet",
		reason:  "the quota's controller hasn't counted",
		quota:   quotaOf(list("pods", "2"), nil),
		request: plugintest.Create(pod(nil, nil)),
		refusal: "status unknown for quota: q, resources: pods",
	}, {
		name:    "out of scope",
		reason:  "the quota is for pods that end by themselves",
		quota:   quotaOf(list("pods", "0"), list("pods", "0"), corev1.ResourceQuotaScopeTerminating),
		request: plugintest.Create(pod(nil, nil)),
	}, {
		name:    "in scope",
		reason:  "a pod without requests is best effort",
		quota:   quotaOf(list("pods", "0"), list("pods", "0"), corev1.ResourceQuotaScopeBestEffort),
		request: plugintest.Create(pod(nil, nil)),
		refusal: "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0",
	}, {
		name:    "said by the pod",
		reason:  "requests of the pod as a whole replace requests of its containers",
		quota:   quotaOf(list("requests.cpu", "1", "limits.memory", "1Gi"), list("requests.cpu", "0", "limits.memory", "0")),
		request: plugintest.Create(asWhole(pod(nil, nil), list("cpu", "1"), list("memory", "1Gi"))),
	}, {
		name:    "half said by the pod",
		reason:  "a pod with resources of its own needs no others",
		quota:   quotaOf(list("requests.cpu", "1", "limits.memory", "1Gi"), list("requests.cpu", "0", "limits.memory", "0")),
		request: plugintest.Create(asWhole(pod(nil, nil), list("cpu", "1"), nil)),
	}, {
		name:    "nothing said by the pod",
		reason:  "an empty spec.resources sets no resource",
		quota:   quotaOf(list("requests.cpu", "1"), list("requests.cpu", "0")),
		request: plugintest.Create(asWhole(pod(nil, nil), nil, nil)),
		refusal: "failed quota: q: must specify requests.cpu for: c",
	}, {
		name:    "into the scope",
		reason:  "with the deadline, the quota counts the pod for the first time",
		quota:   quotaOf(list("pods", "0"), list("pods", "0"), corev1.ResourceQuotaScopeTerminating),
		request: plugintest.Update(stored, withDeadline(pod(list("cpu", "1"), nil))),
		refusal: "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0",
	}, {
		name:    "not said by init containers",
		reason:  "init containers need requests too; the error lists each name once, in order",
		quota:   quotaOf(list("cpu", "1"), list("cpu", "0")),
		request: plugintest.Create(withInit(pod(nil, nil), "b", "a", "c")),
		refusal: "failed quota: q: must specify cpu for: a,b,c",
	}, {
		name:    "storage not said",
		reason:  "only CPU and memory are required",
		quota:   quotaOf(list("requests.ephemeral-storage", "1Gi"), list("requests.ephemeral-storage", "0")),
		request: plugintest.Create(pod(nil, nil)),
	}, {
		name:    "grown",
		reason:  "a resize adds the difference to the usage",
		quota:   quotaOf(list("requests.cpu", "2"), list("requests.cpu", "1")),
		request: plugintest.Update(stored, pod(list("cpu", "3"), nil)).Of("resize"),
		refusal: "exceeded quota: q, requested: requests.cpu=2, used: requests.cpu=1, limited: requests.cpu=2",
	}, {
		name:    "devices",
		reason:  "a device class has a quota of its own, as a storage class does",
		quota:   quotaOf(list("gpu.deviceclass.resource.k8s.io/devices", "2"), list("gpu.deviceclass.resource.k8s.io/devices", "1")),
		request: plugintest.Create(deviceClaim(devices("gpu", 2), devices("nic", 4))),
		refusal: "exceeded quota: q, requested: gpu.deviceclass.resource.k8s.io/devices=2, used: gpu.deviceclass.resource.k8s.io/devices=1, limited: gpu.deviceclass.resource.k8s.io/devices=2",
	}, {
		name:   "any object",
		reason: "objects of every kind can be counted",
		quota: quotaOf(list("count/leases.coordination.k8s.io", "0", "configmaps", "0"),
			list("count/leases.coordination.k8s.io", "0", "configmaps", "0")),
		request: plugintest.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}),
		refusal: "exceeded quota: q, requested: configmaps=1, used: configmaps=0, limited: configmaps=0",
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, err := New(nil)
			if err != nil {
				t.Fatal(err)
			}
			p.SetDrainedNotification(t.Context().Done())
			p.SetQuotaConfiguration(Configuration(nil))
			plugintest.Start(t, p, nil, test.quota)
			plugintest.Run(t, p, test.request, test.refusal)
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	ended := pod(list("cpu", "1"), nil)
	ended.Status.Phase = corev1.PodSucceeded
	failed := pod(list("cpu", "1"), nil)
	failed.Status.Phase = corev1.PodFailed
	ending := pod(list("cpu", "1"), nil)
	ending.DeletionTimestamp, ending.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now()}, new(int64(3600))
	unhurried := pod(list("cpu", "1"), nil)
	unhurried.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(-time.Hour)}
	shrinking := pod(list("cpu", "1"), nil)
	shrinking.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", Resources: &corev1.ResourceRequirements{Requests: list("cpu", "2")}}}
	lost := pod(list("cpu", "1"), nil)
	lost.DeletionTimestamp, lost.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now().Add(-time.Hour)}, new(int64(30))
	service := func(kind corev1.ServiceType, allocate *bool) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{Type: kind, AllocateLoadBalancerNodePorts: allocate, Ports: []corev1.ServicePort{{Port: 1}, {Port: 2, NodePort: 30000}}}}
	}
	claim := &corev1.PersistentVolumeClaim{
		Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: new("gold"),
			Resources: corev1.VolumeResourceRequirements{Requests: list("storage", "1500m")}},
		Status: corev1.PersistentVolumeClaimStatus{AllocatedResources: list("storage", "1")},
	}
	eitherDevice := resourcev1.DeviceRequest{Name: "either", FirstAvailable: []resourcev1.DeviceSubRequest{
		{Name: "a", DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 2},
		{Name: "b", DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 3},
		{Name: "c", DeviceClassName: "nic", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}}
	allDevices := resourcev1.DeviceRequest{Name: "all", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: "nic", AllocationMode: resourcev1.DeviceAllocationModeAll}}
	tests := []struct {
		name, reason, resource string
		object                 runtime.Object
		want                   corev1.ResourceList
	}{{
		name: "pod", reason: "the name without a prefix counts requests too", resource: "pods",
		object: pod(list("cpu", "1", "memory", "2Gi", "hugepages-2Mi", "4Mi", "example.com/gpu", "2"), list("cpu", "2")),
		want: list("count/pods", "1", "pods", "1", "cpu", "1", "requests.cpu", "1", "limits.cpu", "2", "memory", "2Gi", "requests.memory", "2Gi",
			"hugepages-2Mi", "4Mi", "requests.hugepages-2Mi", "4Mi", "requests.example.com/gpu", "2"),
	}, {
		name: "ended pod", reason: "a pod that has ended still counts as an object", resource: "pods", object: ended,
		want: list("count/pods", "1"),
	}, {
		name: "lost pod", reason: "the node of the pod is gone, so the pod needs no resources", resource: "pods",
		object: lost, want: list("count/pods", "1"),
	}, {
		name: "failed pod", reason: "a failed pod needs no resources", resource: "pods", object: failed, want: list("count/pods", "1"),
	}, {
		name: "ending pod", reason: "a deleted pod runs until the end of its grace period", resource: "pods",
		object: ending, want: list("count/pods", "1", "pods", "1", "cpu", "1", "requests.cpu", "1"),
	}, {
		name: "pod ends some time", reason: "the pod has no deadline", resource: "pods", object: unhurried,
		want: list("count/pods", "1", "pods", "1", "cpu", "1", "requests.cpu", "1"),
	}, {
		name: "shrinking pod", reason: "the old requests count until the node has applied the resize", resource: "pods", object: shrinking,
		want: list("count/pods", "1", "pods", "1", "cpu", "2", "requests.cpu", "2"),
	}, {
		name: "storage of a pod", reason: "ephemeral storage counts by requests and by limits, as CPU does",
		resource: "pods", object: pod(list("ephemeral-storage", "1Gi"), list("ephemeral-storage", "2Gi")),
		want: list("count/pods", "1", "pods", "1", "ephemeral-storage", "1Gi", "requests.ephemeral-storage", "1Gi",
			"limits.ephemeral-storage", "2Gi"),
	}, {
		name: "resource of Kubernetes", reason: "quotas have no name for this resource", resource: "pods",
		object: pod(list("kubernetes.io/x", "1"), nil), want: list("count/pods", "1", "pods", "1"),
	}, {
		name: "cluster IP", reason: "a cluster IP uses no node port", resource: "services",
		object: service(corev1.ServiceTypeClusterIP, nil),
		want:   list("count/services", "1", "services", "1", "services.nodeports", "0", "services.loadbalancers", "0"),
	}, {
		name: "load balancer", reason: "a load balancer gets its traffic through node ports", resource: "services",
		object: service(corev1.ServiceTypeLoadBalancer, new(true)),
		want:   list("count/services", "1", "services", "1", "services.nodeports", "2", "services.loadbalancers", "1"),
	}, {
		name: "claim of no class", reason: "a claim without a class counts for no class", resource: "persistentvolumeclaims",
		object: volumeClaim(func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Requests = list("storage", "1Gi") }),
		want:   list("count/persistentvolumeclaims", "1", "persistentvolumeclaims", "1", "requests.storage", "1Gi"),
	}, {
		name: "claim of nothing", reason: "a claim without a request still counts as an object", resource: "persistentvolumeclaims",
		object: volumeClaim(func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("gold") }),
		want: list("count/persistentvolumeclaims", "1", "persistentvolumeclaims", "1",
			"gold.storageclass.storage.k8s.io/persistentvolumeclaims", "1"),
	}, {
		name: "claim that had asked for more", reason: "the volume already has the larger size", resource: "persistentvolumeclaims",
		object: volumeClaim(func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests, c.Status.AllocatedResources = list("storage", "1Gi"), list("storage", "2Gi")
		}),
		want: list("count/persistentvolumeclaims", "1", "persistentvolumeclaims", "1", "requests.storage", "2Gi"),
	}, {
		name: "secret", reason: "the quota also has the resource's older name", resource: "secrets",
		object: &corev1.Secret{}, want: list("count/secrets", "1", "secrets", "1"),
	}, {
		name: "quota", reason: "the quota also has the resource's older name", resource: "resourcequotas",
		object: &corev1.ResourceQuota{}, want: list("count/resourcequotas", "1", "resourcequotas", "1"),
	}, {
		name: "replication controller", reason: "the quota also has the resource's older name",
		resource: "replicationcontrollers", object: &corev1.ReplicationController{},
		want: list("count/replicationcontrollers", "1", "replicationcontrollers", "1"),
	}, {
		name: "node port", reason: "each port of the service gets a node port", resource: "services",
		object: service(corev1.ServiceTypeNodePort, nil),
		want:   list("count/services", "1", "services", "1", "services.nodeports", "2", "services.loadbalancers", "0"),
	}, {
		name: "load balancer without node ports", reason: "only ports that name a node port get a node port",
		resource: "services", object: service(corev1.ServiceTypeLoadBalancer, new(false)),
		want: list("count/services", "1", "services", "1", "services.nodeports", "1", "services.loadbalancers", "1"),
	}, {
		name: "claim", reason: "the storage counts in whole bytes, in total and for the class",
		resource: "persistentvolumeclaims", object: claim,
		want: list("count/persistentvolumeclaims", "1", "persistentvolumeclaims", "1", "requests.storage", "2",
			"gold.storageclass.storage.k8s.io/persistentvolumeclaims", "1", "gold.storageclass.storage.k8s.io/requests.storage", "2"),
	}, {
		name: "devices", reason: "requests add up, and each request counts with its largest allocation",
		resource: "resourceclaims.resource.k8s.io",
		object:   deviceClaim(devices("gpu", 4), eitherDevice, allDevices),
		want: list("count/resourceclaims.resource.k8s.io", "1", "gpu.deviceclass.resource.k8s.io/devices", "7",
			"nic.deviceclass.resource.k8s.io/devices", "33"),
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := evaluatorFor(t, test.resource)
			got, err := e.Usage(test.object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			if matched := e.MatchingResources(quota.ResourceNames(got)); len(matched) != len(got) {
				t.Errorf("of %v, quotas count %v alone", quota.ResourceNames(got), matched)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, configuration, want string }{
		{"unknown field", "apiVersion: apiserver.config.k8s.io/v1\nkind: ResourceQuotaConfiguration\nlimited: []\n",
			`unknown field "limited"`},
		{"limit of nothing",
			"apiVersion: apiserver.config.k8s.io/v1\nkind: ResourceQuotaConfiguration\nlimitedResources: [{}]\n",
			"limitedResources[0].resource: Required value"},
	} {
		_, err := New(strings.NewReader(test.configuration))
		plugintest.Want(t, err, test.want)
	}
}
