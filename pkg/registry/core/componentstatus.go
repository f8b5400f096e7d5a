package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
)

// componentStatusKind is the row of componentstatuses in the server's table of kinds.
var componentStatusKind = registry.Kind{
	Resource:   "componentstatuses",
	ShortNames: []string{"cs"},
	Object:     &corev1.ComponentStatus{},
	Storage:    newComponentStatuses,
}

// componentStatuses is the storage of ComponentStatus, which lists the other components of the control plane.
// miniapi has no other components, so no ComponentStatus exists. The kind is deprecated since v1.19.
type componentStatuses struct{ rest.TableConvertor }

var (
	_ rest.Lister             = componentStatuses{}
	_ rest.Getter             = componentStatuses{}
	_ rest.ShortNamesProvider = componentStatuses{}
)

func newComponentStatuses(*registry.Storage, registry.Dependencies) (rest.Storage, error) {
	return componentStatuses{printers.TableConvertor(componentStatusColumns)}, nil
}

func (componentStatuses) New() runtime.Object { return &corev1.ComponentStatus{} }

func (componentStatuses) NewList() runtime.Object { return &corev1.ComponentStatusList{} }

func (componentStatuses) NamespaceScoped() bool { return false }

func (componentStatuses) GetSingularName() string { return "componentstatus" }

func (componentStatuses) ShortNames() []string { return []string{"cs"} }

// Destroy does nothing: nothing is stored.
func (componentStatuses) Destroy() {}

func (componentStatuses) List(context.Context, *metainternalversion.ListOptions) (runtime.Object, error) {
	return &corev1.ComponentStatusList{Items: []corev1.ComponentStatus{}}, nil
}

func (componentStatuses) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	return nil, apierrors.NewNotFound(corev1.Resource("componentstatus"), name)
}

// componentStatusColumns makes the rows of kubectl get. They show the condition Healthy.
var componentStatusColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Status", "Status of the component conditions"),
		printers.Text("Message", "Message of the component conditions"),
		printers.Text("Error", "Error of the component conditions"),
	},
	func(c *corev1.ComponentStatus) []any {
		for _, condition := range c.Conditions {
			if condition.Type != corev1.ComponentHealthy {
				continue
			}
			status := "Unhealthy"
			if condition.Status == corev1.ConditionTrue {
				status = "Healthy"
			}
			return []any{c.Name, status, condition.Message, condition.Error}
		}
		return []any{c.Name, "Unknown", "", ""}
	})
