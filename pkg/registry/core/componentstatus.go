package core

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
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

// EtcdProbes return an error if an etcd of this server doesn't answer.
type EtcdProbes []func(context.Context) error

// controlPlane are the other components of the control plane, with the addresses at which kube-apiserver expects
// them: on its own machine, at their default ports.
var controlPlane = map[string]string{
	"controller-manager": "https://127.0.0.1:10257/healthz",
	"scheduler":          "https://127.0.0.1:10259/healthz",
}

// probeTimeout is the time that a component has for its answer.
const probeTimeout = 20 * time.Second

// componentStatuses is the storage of ComponentStatus, which lists the etcds and the other components of the control
// plane. It asks each component at each request. The kind is deprecated since v1.19.
type componentStatuses struct {
	rest.TableConvertor
	probes map[string]func(context.Context) corev1.ComponentCondition
}

var (
	_ rest.Lister             = componentStatuses{}
	_ rest.Getter             = componentStatuses{}
	_ rest.ShortNamesProvider = componentStatuses{}
)

func newComponentStatuses(_ *registry.Storage, deps registry.Dependencies) (rest.Storage, error) {
	return componentStatusesOf(registry.PartOf[EtcdProbes](deps), controlPlane), nil
}

func componentStatusesOf(etcds EtcdProbes, components map[string]string) componentStatuses {
	s := componentStatuses{printers.TableConvertor(componentStatusColumns), map[string]func(context.Context) corev1.ComponentCondition{}}
	for name, url := range components {
		s.probes[name] = func(ctx context.Context) corev1.ComponentCondition { return probeComponent(ctx, url) }
	}
	for i, probe := range etcds {
		s.probes[fmt.Sprintf("etcd-%d", i)] = func(ctx context.Context) corev1.ComponentCondition {
			if err := probe(ctx); err != nil {
				return corev1.ComponentCondition{Status: corev1.ConditionFalse, Error: err.Error()}
			}
			return corev1.ComponentCondition{Status: corev1.ConditionTrue, Message: "ok"}
		}
	}
	return s
}

func (componentStatuses) New() runtime.Object { return &corev1.ComponentStatus{} }

func (componentStatuses) NewList() runtime.Object { return &corev1.ComponentStatusList{} }

func (componentStatuses) NamespaceScoped() bool { return false }

func (componentStatuses) GetSingularName() string { return "componentstatus" }

func (componentStatuses) ShortNames() []string { return []string{"cs"} }

// Destroy does nothing: nothing is stored.
func (componentStatuses) Destroy() {}

// List asks the selected components at the same time.
func (s componentStatuses) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	labelSelector, fieldSelector := labels.Everything(), fields.Everything()
	if options != nil && options.LabelSelector != nil {
		labelSelector = options.LabelSelector
	}
	if options != nil && options.FieldSelector != nil {
		fieldSelector = options.FieldSelector
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.probes)), func(name string) bool {
		selectable := generic.ObjectMetaFieldsSet(&metav1.ObjectMeta{Name: name}, true)
		return !labelSelector.Matches(labels.Set{}) || !fieldSelector.Matches(selectable)
	})
	list := &corev1.ComponentStatusList{Items: make([]corev1.ComponentStatus, len(names))}
	var asked sync.WaitGroup
	for i, name := range names {
		asked.Go(func() { list.Items[i] = s.status(ctx, name) })
	}
	asked.Wait()
	return list, nil
}

// Get asks one component.
func (s componentStatuses) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if s.probes[name] == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("componentstatus"), name)
	}
	status := s.status(ctx, name)
	return &status, nil
}

func (s componentStatuses) status(ctx context.Context, name string) corev1.ComponentStatus {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	condition := s.probes[name](ctx)
	condition.Type = corev1.ComponentHealthy
	return corev1.ComponentStatus{ObjectMeta: metav1.ObjectMeta{Name: name}, Conditions: []corev1.ComponentCondition{condition}}
}

// probeComponent asks a component for its health, as the kubelet asks a container. The message is the component's
// answer, or the reason why there is none.
func probeComponent(ctx context.Context, url string) corev1.ComponentCondition {
	unhealthy := func(message string) corev1.ComponentCondition {
		return corev1.ComponentCondition{Status: corev1.ConditionFalse, Message: message}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return corev1.ComponentCondition{Status: corev1.ConditionUnknown, Error: err.Error()}
	}
	// Only this machine can have the component, so the certificate proves nothing more.
	config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the comment above has the reason
	client := http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return unhealthy(err.Error())
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusBadRequest {
		return unhealthy(fmt.Sprintf("HTTP probe failed with statuscode: %d", resp.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 10<<10))
	if err != nil {
		return corev1.ComponentCondition{Status: corev1.ConditionUnknown, Error: err.Error()}
	}
	return corev1.ComponentCondition{Status: corev1.ConditionTrue, Message: string(body)}
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
