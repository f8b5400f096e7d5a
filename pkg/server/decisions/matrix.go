package decisions

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/client-go/discovery"

	"github.com/miniapi-dev/miniapi/pkg/admission/explain"
	"github.com/miniapi-dev/miniapi/pkg/trace"
)

// MatrixPath returns, as a Matrix, the resources for which webhooks are called according to their rules.
const MatrixPath = Prefix + "matrix"

// Matrix is the answer of MatrixPath: a table with a row for each resource and a column for each webhook.
type Matrix struct {
	Webhooks []MatrixWebhook `json:"webhooks"`
	// Resources has only the resources for which at least one webhook is called.
	Resources []MatrixResource `json:"resources"`
}

// MatrixWebhook is a column of the Matrix.
type MatrixWebhook struct {
	trace.Reference
	// Conditional lists the fields of the webhook that also decide whether it is called: selectors and match
	// conditions.
	Conditional []string `json:"conditional,omitempty"`
}

// MatrixResource is a row of the Matrix. It has a cell for each webhook. A cell is nil if the webhook's rules match no
// operation on the resource.
type MatrixResource struct {
	trace.Resource
	Cells []*MatrixCell `json:"cells"`
}

// MatrixCell has the operations for which a webhook is called.
type MatrixCell struct {
	Operations []string `json:"operations"`
	// As is set if the webhook's rules match only an equivalent resource: the webhook then gets objects of that
	// resource (matchPolicy Equivalent).
	As *trace.Resource `json:"as,omitempty"`
}

// served is a resource that this server or another one serves, with the operations that admission handles.
type served struct {
	schema.GroupVersionResource
	kind        schema.GroupVersionKind
	subresource string
	namespaced  bool
	operations  []admission.Operation
}

// matrix serves MatrixPath.
func (d *Decisions) matrix(w http.ResponseWriter, req *http.Request) error {
	hooks, err := d.hooks(req)
	if err != nil {
		return err
	}
	_, lists, err := d.Discovery.ServerGroupsAndResources()
	// A group whose server doesn't answer must not hide the other groups.
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return err
	}
	matrix := Matrix{Webhooks: []MatrixWebhook{}, Resources: []MatrixResource{}}
	for _, hook := range hooks {
		matrix.Webhooks = append(matrix.Webhooks, hook.column())
	}
	for _, resource := range servedBy(lists) {
		row := MatrixResource{Resource: trace.Resource{Group: resource.Group, Version: resource.Version, Resource: resource.Resource, Subresource: resource.subresource}}
		for _, hook := range hooks {
			row.Cells = append(row.Cells, d.cell(hook, resource))
		}
		if slices.ContainsFunc(row.Cells, func(c *MatrixCell) bool { return c != nil }) {
			matrix.Resources = append(matrix.Resources, row)
		}
	}
	return answer(w, matrix)
}

// configuredHook is a webhook, and the kind of its configuration.
type configuredHook struct {
	webhook.WebhookAccessor
	kind string
}

// hooks returns all webhooks in the order in which they are called.
func (d *Decisions) hooks(req *http.Request) ([]configuredHook, error) {
	mutating, err := d.Configurations.MutatingWebhookConfigurations().List(req.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	validating, err := d.Configurations.ValidatingWebhookConfigurations().List(req.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var hooks []configuredHook
	for _, configuration := range mutating.Items {
		for i := range configuration.Webhooks {
			hooks = append(hooks, configuredHook{webhook.NewMutatingWebhookAccessor("", configuration.Name, &configuration.Webhooks[i]), trace.MutatingConfiguration})
		}
	}
	for _, configuration := range validating.Items {
		for i := range configuration.Webhooks {
			hooks = append(hooks, configuredHook{webhook.NewValidatingWebhookAccessor("", configuration.Name, &configuration.Webhooks[i]), trace.ValidatingConfiguration})
		}
	}
	return hooks, nil
}

// column returns the column of a webhook.
func (h configuredHook) column() MatrixWebhook {
	column := MatrixWebhook{Reference: trace.Reference{Kind: h.kind, Name: h.GetConfigurationName(), Part: h.GetName()}}
	selector := func(name string, selector *metav1.LabelSelector) {
		if selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) > 0 {
			column.Conditional = append(column.Conditional, name+": "+metav1.FormatLabelSelector(selector))
		}
	}
	selector("namespaceSelector", h.GetNamespaceSelector())
	selector("objectSelector", h.GetObjectSelector())
	for _, condition := range h.GetMatchConditions() {
		column.Conditional = append(column.Conditional, fmt.Sprintf("matchCondition %s: %s", condition.Name, condition.Expression))
	}
	return column
}

// cell returns the cell for a webhook and a resource.
func (d *Decisions) cell(hook configuredHook, resource served) *MatrixCell {
	if !d.Runs(trace.PluginOf(hook.kind)) {
		return nil
	}
	var cell *MatrixCell
	namespace := ""
	if resource.namespaced {
		namespace = metav1.NamespaceDefault
	}
	for _, operation := range resource.operations {
		attributes := admission.NewAttributesRecord(nil, nil, resource.kind, namespace, "", resource.GroupVersionResource, resource.subresource, operation, nil, false, nil)
		if explain.Exemption(attributes, d.Hides(resource.GroupResource())) != nil {
			return nil
		}
		matched, ruledOut := explain.Matching{Constraints: explain.Webhook(hook), Attributes: attributes, Interfaces: equivalents{mapper: d.Equivalents()}}.Rules()
		if len(ruledOut) > 0 {
			continue
		}
		if cell == nil {
			cell = &MatrixCell{As: matched.As}
		}
		cell.Operations = append(cell.Operations, string(operation))
	}
	return cell
}

// equivalents implements the part of admission.ObjectInterfaces that the matching of rules uses: the equivalent
// resources.
type equivalents struct {
	admission.ObjectInterfaces
	mapper runtime.EquivalentResourceMapper
}

// GetEquivalentResourceMapper implements admission.ObjectInterfaces.
func (e equivalents) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper { return e.mapper }

// operationsOf lists the verbs of discovery that stand for an operation of admission.
var operationsOf = []struct {
	operation admission.Operation
	verbs     []string
}{
	{admission.Create, []string{"create"}},
	{admission.Update, []string{"update", "patch"}},
	{admission.Delete, []string{"delete", "deletecollection"}},
}

// servedBy returns the resources of discovery documents in sorted order.
func servedBy(lists []*metav1.APIResourceList) []served {
	var all []served
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // a document whose group version can't be parsed has no resources that rules could name
		}
		for _, listed := range list.APIResources {
			name, subresource, _ := strings.Cut(listed.Name, "/")
			kind := schema.GroupVersionKind{Group: cmp.Or(listed.Group, version.Group), Version: cmp.Or(listed.Version, version.Version), Kind: listed.Kind}
			resource := served{GroupVersionResource: version.WithResource(name), kind: kind, subresource: subresource, namespaced: listed.Namespaced}
			// A kind such as PodExecOptions shows that requests for the subresource are connections.
			if strings.HasSuffix(listed.Kind, "Options") {
				resource.operations = []admission.Operation{admission.Connect}
			} else {
				for _, each := range operationsOf {
					if slices.ContainsFunc(each.verbs, func(verb string) bool { return slices.Contains(listed.Verbs, verb) }) {
						resource.operations = append(resource.operations, each.operation)
					}
				}
			}
			all = append(all, resource)
		}
	}
	slices.SortFunc(all, func(a, b served) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.subresource, b.subresource), cmp.Compare(a.Version, b.Version))
	})
	return all
}
