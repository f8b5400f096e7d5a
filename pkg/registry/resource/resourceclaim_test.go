package resource

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// claimWithDevices returns a claim to which the device a is allocated, with statuses of devices.
func claimWithDevices(devices ...resourcev1.AllocatedDeviceStatus) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{ObjectMeta: registrytest.Stored("claim"), Status: resourcev1.ResourceClaimStatus{Devices: devices,
		Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
			Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "d.e", Pool: "p", Device: "a"}},
		}},
	}}
}

// notLabel is the error about a name that isn't a DNS label.
const notSubdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
	"alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

const notLabel = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an " +
	"alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"

// notQualified is the error about a name with too many slashes. The name may be a key, or the type of a condition.
const notQualified = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
	"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') " +
	"with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"

func TestResourceClaimColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "deleted while reserved", Reason: "the cell lists all states of the claim",
			Object: &resourcev1.ResourceClaim{
				ObjectMeta: metav1.ObjectMeta{Name: "x", CreationTimestamp: registrytest.MonthAgo(),
					DeletionTimestamp: ptr.To(registrytest.MonthAgo())},
				Status: resourcev1.ResourceClaimStatus{
					Allocation: &resourcev1.AllocationResult{}, ReservedFor: []resourcev1.ResourceClaimConsumerReference{{}},
				},
			},
			Want: []any{"x", "deleted,allocated,reserved", "30d"},
		},
	})
}

func TestResourceClaimErrors(t *testing.T) {
	t.Parallel()
	oneRequest := resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "r"}}}}
	const noRequest = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
	reserved := func(users ...types.UID) *resourcev1.ResourceClaim {
		c := claimWithDevices()
		for _, uid := range users {
			c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "p", UID: uid})
		}
		return c
	}
	now := metav1.Now()
	deleted := func(users ...types.UID) *resourcev1.ResourceClaim {
		c := reserved(users...)
		c.DeletionTimestamp = &now
		return c
	}
	unallocated := deleted("a")
	unallocated.Status.Allocation = nil
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "reported devices", Reason: "a driver reports allocated devices once each, and addresses with a prefix length",
			Object: claimWithDevices(
				resourcev1.AllocatedDeviceStatus{Driver: "d.e", Pool: "p", Device: "a", NetworkData: &resourcev1.NetworkDeviceData{IPs: []string{"10.0.0.5/24", "10.0.0.6"}}},
				resourcev1.AllocatedDeviceStatus{Driver: "d.e", Pool: "p", Device: "a", Data: &runtime.RawExtension{Raw: []byte("[]")}},
				resourcev1.AllocatedDeviceStatus{Driver: "d.e", Pool: "p", Device: "b"}),
			Old:    claimWithDevices(),
			Status: true,
			Want: []string{
				`status.devices[0].networkData.ips[1]: Invalid value: "10.0.0.6": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)`,
				`status.devices[1].data: Invalid value: "<value omitted>": must be a valid JSON object`,
				`status.devices[2]: Invalid value: {"Driver":"d.e","Pool":"p","Device":"b","ShareID":""}: must be an allocated device in the claim`,
				`status.devices[1]: Duplicate value: {"driver":"d.e","pool":"p","device":"a","conditions":null,"data":[]}`,
			},
		},
		{
			Name: "no names", Reason: "an empty name isn't a label",
			Object: &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim", Namespace: "default"}, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
				Requests: []resourcev1.DeviceRequest{{FirstAvailable: []resourcev1.DeviceSubRequest{{DeviceClassName: "c", AllocationMode: resourcev1.DeviceAllocationModeAll}}}},
				Constraints: []resourcev1.DeviceConstraint{{Requests: []string{"BAD", "a/b/c"},
					MatchAttribute: ptr.To(resourcev1.FullyQualifiedName("d.e/model"))}},
			}}},
			Want: []string{
				`spec.devices.requests[0].name: Invalid value: "": ` + notLabel,
				`spec.devices.requests[0].firstAvailable[0].name: Invalid value: "": ` + notLabel,
				`spec.devices.constraints[0].requests[0]: Invalid value: "BAD": ` + notLabel,
				`spec.devices.constraints[0].requests[0]: Invalid value: "BAD": ` + noRequest,
				`spec.devices.constraints[0].requests[1]: Invalid value: "a/b/c": ` + noRequest,
			},
		},
		{
			Name: "reserved while deleted", Reason: "the devices are about to be free, so no pod may begin to use them",
			Object: deleted("a", "b", "c"), Old: deleted("a"), Status: true,
			Want: []string{"status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"},
		},
		{
			Name: "reserved without devices", Reason: "only one error is about the reservations",
			Object: unallocated, Old: deleted(), Status: true,
			Want: []string{"status.reservedFor: Forbidden: may not be specified when `allocated` is not set"},
		},
		{
			Name:   "constraints",
			Reason: "a constraint needs an attribute, and may have both; a toleration without a key is accepted with each operator",
			Object: &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim", Namespace: "default"}, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
				Requests: []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
					DeviceClassName: "class", AllocationMode: resourcev1.DeviceAllocationModeAll,
					Tolerations: []resourcev1.DeviceToleration{{Operator: resourcev1.DeviceTolerationOpEqual}},
				}}},
				Constraints: []resourcev1.DeviceConstraint{{}, {
					MatchAttribute:    ptr.To(resourcev1.FullyQualifiedName("d.e/model")),
					DistinctAttribute: ptr.To(resourcev1.FullyQualifiedName("d.e/slot")),
				}},
			}}},
			Want: []string{
				`spec.devices.constraints[0]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set`,
			},
		},
		{
			Name: "allocation", Reason: "the share of a device has a UUID, and binding conditions are types of conditions",
			Object: &resourcev1.ResourceClaim{ObjectMeta: registrytest.Stored("claim"), Spec: oneRequest, Status: resourcev1.ResourceClaimStatus{
				Devices: []resourcev1.AllocatedDeviceStatus{{Driver: "d.e", Pool: "p", Device: "a", ShareID: ptr.To("one")}},
				Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
					Config: slices.Repeat([]resourcev1.DeviceAllocationConfiguration{{Source: resourcev1.AllocationConfigSourceClaim,
						DeviceConfiguration: resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{
							Driver: "d.e", Parameters: runtime.RawExtension{Raw: []byte("{}")}}}}}, 65),
					Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "d.e", Pool: "p", Device: "a", ShareID: ptr.To(types.UID("one")),
						BindingConditions: []string{"a/b/c"}, BindingFailureConditions: []string{"A", "B", "C", "D", "E"},
						Tolerations: []resourcev1.DeviceToleration{{Key: "a/b/c", Operator: "Like", Effect: "Evict"}}}}},
					NodeSelector: &corev1.NodeSelector{}}}},
			Old:    &resourcev1.ResourceClaim{ObjectMeta: registrytest.Stored("claim"), Spec: oneRequest},
			Status: true,
			Want: []string{
				`status.allocation.devices.results[0].bindingConditions[0]: Invalid value: "a/b/c": ` + notQualified,
				"status.allocation.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term",
				`status.allocation.devices.results[0].tolerations[0].key: Invalid value: "a/b/c": ` + notQualified,
				`status.allocation.devices.results[0].tolerations[0].operator: Unsupported value: "Like": supported values: "Equal", "Exists"`,
				`status.allocation.devices.results[0].tolerations[0].effect: Unsupported value: "Evict": supported values: "NoExecute", "NoSchedule", "None"`,
				"status.allocation.devices.results[0].bindingFailureConditions: Too many: 5: must have at most 4 items",
				`status.allocation.devices.results[0].shareID: Invalid value: "one": must be a lowercase UUID in 8-4-4-4-12 format`,
				"status.allocation.devices.config: Too many: 65: must have at most 64 items",
				`status.devices[0].shareID: Invalid value: "one": must be a lowercase UUID in 8-4-4-4-12 format`,
			},
		},
		{
			Name:   "binding conditions",
			Reason: "a condition occurs only once in the two lists, and a device has either both lists or none",
			Object: &resourcev1.ResourceClaim{ObjectMeta: registrytest.Stored("claim"), Spec: oneRequest, Status: resourcev1.ResourceClaimStatus{
				Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
					{Request: "r", Driver: "d.e", Pool: "p", Device: "a", BindingConditions: []string{"A", "A", "B"},
						BindingFailureConditions: []string{"B", "C", "C"}},
					{Request: "r", Driver: "d.e", Pool: "p", Device: "b", BindingConditions: []string{"A"}},
					{Request: "r", Driver: "d.e", Pool: "p", Device: "c", BindingFailureConditions: []string{"A"}},
				}}}}},
			Old:    &resourcev1.ResourceClaim{ObjectMeta: registrytest.Stored("claim"), Spec: oneRequest},
			Status: true,
			Want: []string{
				`status.allocation.devices.results[0].bindingConditions[1]: Duplicate value: "A"`,
				`status.allocation.devices.results[0].bindingFailureConditions[0]: Invalid value: "B": bindingFailureConditions must not overlap with bindingConditions`,
				`status.allocation.devices.results[0].bindingFailureConditions[2]: Duplicate value: "C"`,
				"status.allocation.devices.results[1].bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions",
				"status.allocation.devices.results[2].bindingConditions: Invalid value: null: bindingConditions are required to use bindingFailureConditions",
			},
		},
		{
			Name: "tolerations", Reason: "an allocation's tolerations follow the rules of a claim's",
			Object: &resourcev1.ResourceClaim{ObjectMeta: registrytest.Stored("claim"), Spec: oneRequest, Status: resourcev1.ResourceClaimStatus{
				Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
					{Request: "r", Driver: "d.e", Pool: "p", Device: "a", Tolerations: []resourcev1.DeviceToleration{
						{Operator: resourcev1.DeviceTolerationOpExists, Value: "v"},
						{Key: "k", Operator: resourcev1.DeviceTolerationOpEqual, Value: strings.Repeat("v", 64)}}},
				}}}}},
			Old:    &resourcev1.ResourceClaim{ObjectMeta: registrytest.Stored("claim"), Spec: oneRequest},
			Status: true,
			Want: []string{
				"status.allocation.devices.results[0].tolerations[0].value: Invalid value: \"v\": must be empty for operator `Exists`",
				`status.allocation.devices.results[0].tolerations[1].value: Invalid value: "` + strings.Repeat("v", 64) + `": must be no more than 63 bytes`,
			},
		},
		{
			Name: "generated name", Reason: "an update checks the name, too",
			Object: &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", GenerateName: "A", Namespace: "ns", ResourceVersion: "1"},
				Spec: oneRequest},
			Old: &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns", ResourceVersion: "1"},
				Spec: oneRequest},
			Want: []string{`metadata.generateName: Invalid value: "A": ` + notSubdomain},
		},
		{
			Name: "changed allocation", Reason: "an allocation can be removed, but can't change",
			Object: &resourcev1.ResourceClaim{ObjectMeta: registrytest.Stored("claim"),
				Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{}}},
			Old:    claimWithDevices(),
			Status: true,
			Want:   []string{"status.allocation: Invalid value: null: field cannot be modified once set"},
		},
		{
			Name: "tolerations", Reason: "the value of a toleration is a label value",
			Object: &resourcev1.ResourceClaim{ObjectMeta: registrytest.Stored("c"), Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
				Requests: []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
					DeviceClassName: "c", AllocationMode: resourcev1.DeviceAllocationModeAll, Tolerations: []resourcev1.DeviceToleration{
						{Key: "a", Operator: resourcev1.DeviceTolerationOpEqual, Value: "-"},
						{Key: "a", Operator: resourcev1.DeviceTolerationOpEqual}}}}}}}},
			Want: []string{
				`spec.devices.requests[0].exactly.tolerations[0].value: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, ` +
					`'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', ` +
					`regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
			},
		},
	})
}

// TestDeallocatedDevices checks that a status update drops the reports about the shares of devices that it deallocates.
func TestDeallocatedDevices(t *testing.T) {
	t.Parallel()
	claim := func(allocated types.UID, reported ...string) *resourcev1.ResourceClaim {
		c := &resourcev1.ResourceClaim{}
		c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
			Results: []resourcev1.DeviceRequestAllocationResult{{Driver: "d.e", Pool: "p", Device: "a", ShareID: &allocated}}}}
		for _, share := range reported {
			c.Status.Devices = append(c.Status.Devices, resourcev1.AllocatedDeviceStatus{Driver: "d.e", Pool: "p", Device: "a", ShareID: &share})
		}
		return c
	}
	registrytest.CheckPrepared(t, registrytest.Table(t, Group), []registrytest.PrepareCase{
		{Name: "same share", Reason: "the claim has the share", Object: claim("1", "1"), Old: claim("1"), Status: true,
			Want: claim("1", "1")},
		{Name: "another share", Reason: "the claim has another share of the same device", Object: claim("2", "1", "2"),
			Old: claim("1"), Status: true, Want: claim("2", "2")},
	})
}

func TestResourceClaimDefaults(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, Group), []registrytest.DefaultsCase{
		{
			Name:     "alternatives in v1beta1",
			Reason:   "a request with alternatives has no count, but each alternative has one",
			Manifest: `{apiVersion: resource.k8s.io/v1beta1, kind: ResourceClaim, spec: {devices: {requests: [{name: r, firstAvailable: [{name: s, deviceClassName: c}]}]}}}`,
			Path:     "spec.devices.requests.0",
			Want:     `{name: r, deviceClassName: "", firstAvailable: [{name: s, deviceClassName: c, allocationMode: ExactCount, count: 1}]}`,
		},
	})
}
