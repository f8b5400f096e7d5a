package validation

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// The longest names and addresses of network interfaces that are reported.
const (
	maxInterfaceName   = 256
	maxHardwareAddress = 128
)

// reportedDevices checks what drivers report of a claim's devices, which are those that are allocated
// (KEP-4817).
func reportedDevices(path *field.Path, status *resourcev1.ResourceClaimStatus) field.ErrorList {
	allocated := sets.New[string]()
	if status.Allocation != nil {
		for _, r := range status.Allocation.Devices.Results {
			allocated.Insert(deviceID(r.Driver, r.Pool, r.Device, r.ShareID))
		}
	}
	var f Findings
	seen := sets.New[string]()
	for i := range status.Devices {
		path, d := path.Index(i), &status.Devices[i]
		id := deviceID(d.Driver, d.Pool, d.Device, d.ShareID)
		f.Merge(CSIDriverName(path.Child("driver"), d.Driver), poolName(path.Child("pool"), d.Pool), deviceName(path.Child("device"), d.Device))
		f.AddIf(!allocated.Has(id), field.Invalid(path, id, "must be an allocated device in the claim"))
		if d.ShareID != nil {
			f.Merge(declared(validate.UUID, path.Child("shareID"), *d.ShareID))
		}
		f.Merge(Few(path.Child("conditions"), len(d.Conditions), resourcev1.AllocatedDeviceStatusMaxConditions),
			metav1validation.ValidateConditions(d.Conditions, path.Child("conditions")))
		if d.Data != nil {
			f.Merge(rawObject(path.Child("data"), d.Data.Raw, resourcev1.AllocatedDeviceStatusDataMaxLength))
		}
		if d.NetworkData != nil {
			f.Merge(reportedNetwork(path.Child("networkData"), d.NetworkData))
		}
		f.AddIf(seen.Has(id), field.Duplicate(path, *d))
		seen.Insert(id)
	}
	return f.Errs
}

// deviceID tells the devices, and the shares of devices, of a claim apart.
func deviceID[Share ~string](driver, pool, device string, share *Share) string {
	id := driver + "/" + pool + "/" + device
	return strings.TrimSuffix(id+"/"+string(ptr.Deref(share, "")), "/")
}

func reportedNetwork(path *field.Path, n *resourcev1.NetworkDeviceData) field.ErrorList {
	var f Findings
	f.AddIf(len(n.InterfaceName) > maxInterfaceName, field.TooLong(path.Child("interfaceName"), "", maxInterfaceName))
	f.AddIf(len(n.HardwareAddress) > maxHardwareAddress, field.TooLong(path.Child("hardwareAddress"), "", maxHardwareAddress))
	ips := path.Child("ips")
	f.Merge(Few(ips, len(n.IPs), resourcev1.NetworkDeviceDataMaxIPs))
	seen := sets.New[string]()
	for i, ip := range n.IPs {
		f.Merge(utilvalidation.IsValidInterfaceAddress(ips.Index(i), ip))
		f.AddIf(seen.Has(ip), field.Duplicate(ips.Index(i), ip))
		seen.Insert(ip)
	}
	return f.Errs
}
