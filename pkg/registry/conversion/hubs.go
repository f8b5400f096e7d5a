package conversion

import (
	"fmt"
	"reflect"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	authenticationv1 "k8s.io/api/authentication/v1"
	authenticationv1alpha1 "k8s.io/api/authentication/v1alpha1"
	authenticationv1beta1 "k8s.io/api/authentication/v1beta1"
	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	batchv1beta1 "k8s.io/api/batch/v1beta1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1alpha1 "k8s.io/api/certificates/v1alpha1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1alpha2 "k8s.io/api/coordination/v1alpha2"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"
	eventsv1 "k8s.io/api/events/v1"
	eventsv1beta1 "k8s.io/api/events/v1beta1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta1 "k8s.io/api/flowcontrol/v1beta1"
	flowcontrolv1beta2 "k8s.io/api/flowcontrol/v1beta2"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	nodev1 "k8s.io/api/node/v1"
	nodev1alpha1 "k8s.io/api/node/v1alpha1"
	nodev1beta1 "k8s.io/api/node/v1beta1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	storagev1alpha1 "k8s.io/api/storage/v1alpha1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
)

// adder registers the Go types of one group version.
type adder = func(*runtime.Scheme) error

// hubs names, for each group version whose types are a hub, those that convert to
// and from it: every kind that both have, by its name.
var hubs = []struct {
	hub    adder
	spokes []adder
}{
	{admissionv1.AddToScheme, []adder{admissionv1beta1.AddToScheme, admissionv1alpha1.AddToScheme}},
	{appsv1.AddToScheme, []adder{appsv1beta2.AddToScheme, appsv1beta1.AddToScheme, extensionsv1beta1.AddToScheme}},
	{authenticationv1.AddToScheme, []adder{authenticationv1beta1.AddToScheme, authenticationv1alpha1.AddToScheme}},
	{authorizationv1.AddToScheme, []adder{authorizationv1beta1.AddToScheme}},
	{autoscalingv2.AddToScheme, []adder{autoscalingv1.AddToScheme}},
	// Every group that has a Scale means this one.
	{autoscalingv1.AddToScheme, []adder{appsv1beta2.AddToScheme, appsv1beta1.AddToScheme, extensionsv1beta1.AddToScheme}},
	{batchv1.AddToScheme, []adder{batchv1beta1.AddToScheme}},
	{certificatesv1.AddToScheme, []adder{certificatesv1beta1.AddToScheme, certificatesv1alpha1.AddToScheme}},
	{coordinationv1.AddToScheme, []adder{coordinationv1beta1.AddToScheme}},
	{coordinationv1beta1.AddToScheme, []adder{coordinationv1alpha2.AddToScheme}}, // LeaseCandidate
	{corev1.AddToScheme, []adder{eventsv1.AddToScheme, eventsv1beta1.AddToScheme}},
	{discoveryv1.AddToScheme, []adder{discoveryv1beta1.AddToScheme}},
	{flowcontrolv1.AddToScheme, []adder{flowcontrolv1beta3.AddToScheme, flowcontrolv1beta2.AddToScheme, flowcontrolv1beta1.AddToScheme}},
	{networkingv1.AddToScheme, []adder{networkingv1beta1.AddToScheme, extensionsv1beta1.AddToScheme}},
	{nodev1.AddToScheme, []adder{nodev1beta1.AddToScheme, nodev1alpha1.AddToScheme}},
	{policyv1.AddToScheme, []adder{policyv1beta1.AddToScheme}},
	{rbacv1.AddToScheme, []adder{rbacv1beta1.AddToScheme, rbacv1alpha1.AddToScheme}},
	{resourcev1.AddToScheme, []adder{resourcev1beta2.AddToScheme, resourcev1beta1.AddToScheme, resourcev1alpha3.AddToScheme}},
	{schedulingv1.AddToScheme, []adder{schedulingv1beta1.AddToScheme}},
	{storagev1.AddToScheme, []adder{storagev1beta1.AddToScheme, storagev1alpha1.AddToScheme}},
	{storagemigrationv1.AddToScheme, []adder{storagemigrationv1beta1.AddToScheme}},
}

// pair is one kind in two versions.
type pair struct {
	hub, spoke reflect.Type
}

// pairs returns every kind that a hub has in another version.
func pairs() ([]pair, error) {
	var all []pair
	for _, h := range hubs {
		hubTypes, err := typesOf(h.hub)
		if err != nil {
			return nil, err
		}
		for _, spoke := range h.spokes {
			spokeTypes, err := typesOf(spoke)
			if err != nil {
				return nil, err
			}
			for kind, t := range spokeTypes {
				if hubType, found := hubTypes[kind]; found {
					all = append(all, pair{hub: hubType, spoke: t})
				}
			}
		}
	}
	return all, nil
}

// typesOf returns the types of k8s.io/api that a package registers, by kind.
func typesOf(add adder) (map[string]reflect.Type, error) {
	s := runtime.NewScheme()
	if err := add(s); err != nil {
		return nil, fmt.Errorf("collecting types to convert: %w", err)
	}
	types := map[string]reflect.Type{}
	for gvk, t := range s.AllKnownTypes() {
		if strings.HasPrefix(t.PkgPath(), "k8s.io/api/") {
			types[gvk.Kind] = t
		}
	}
	return types, nil
}
