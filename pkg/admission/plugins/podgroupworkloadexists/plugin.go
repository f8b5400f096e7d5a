// Package podgroupworkloadexists has the plugin PodGroupWorkloadExists: if a new pod group names the workload from
// which it is made, the workload must exist, and must not be being deleted.
//
// The plugin doesn't check that the workload has the template that the pod group names. It ignores pod groups
// without a workload.
package podgroupworkloadexists

import (
	"context"
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/reader"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "PodGroupWorkloadExists"

// New returns the plugin.
func New() *Plugin { return &Plugin{reader.NewHandler(admission.Create)} }

// Plugin reads the workloads of pod groups from the server. It uses no informer, because workloads are served only on
// demand: an informer of a resource that isn't served never gets ready.
type Plugin struct{ *reader.Handler }

var _ admission.ValidationInterface = &Plugin{}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != schedulingv1beta1.Resource("podgroups") || a.GetSubresource() != "" {
		return nil
	}
	group, ok := a.GetObject().(*schedulingv1beta1.PodGroup)
	if !ok {
		return apierrors.NewBadRequest("resource was marked with kind PodGroup but was unable to be converted")
	}
	if group.Spec.WorkloadRef == nil {
		return nil
	}
	name := group.Spec.WorkloadRef.WorkloadName
	workload, err := p.Client.SchedulingV1beta1().Workloads(a.GetNamespace()).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return admission.NewForbidden(a, fmt.Errorf("workload %q of spec.workloadRef.workloadName does not exist", name))
	case err != nil:
		return admission.NewForbidden(a, fmt.Errorf("get workload %q: %w", name, err))
	case workload.DeletionTimestamp != nil:
		return admission.NewForbidden(a, fmt.Errorf("workload %q of spec.workloadRef.workloadName is being deleted", name))
	}
	return nil
}
