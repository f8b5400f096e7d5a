package admissiontrace

import (
	"cmp"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/discovery"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace/resources"
)

// MatrixPath returns, as a Matrix, the resources for which webhooks are called and policies are evaluated according to
// their rules.
const MatrixPath = Prefix + "matrix"

// Matrix is the answer of MatrixPath: a table with a row for each resource, and a column for each webhook and each
// policy.
type Matrix struct {
	Columns []MatrixColumn `json:"columns"`
	// Resources has only the resources for which at least one cell isn't nil.
	Resources []MatrixResource `json:"resources"`
}

// MatrixColumn is a column of the Matrix: a webhook or a policy.
type MatrixColumn struct {
	trace.Reference
	// Conditional has the selectors and match conditions of the webhook, or of the policy and its bindings, with their
	// content, as in "objectSelector: app=web". An empty selector is left out.
	Conditional []string `json:"conditional,omitempty"`
	// Unbound is true for a policy without a binding. Such a policy is never evaluated.
	Unbound bool `json:"unbound,omitempty"`
}

// MatrixResource is a row of the Matrix. It has a cell for each column. A cell is nil if no operation on the resource
// calls the webhook or evaluates the policy.
type MatrixResource struct {
	trace.Resource
	Cells []*MatrixCell `json:"cells"`
}

// MatrixCell has the operations for which a webhook is called or a policy is evaluated.
type MatrixCell struct {
	Operations []string `json:"operations"`
	// As is set if the rules match the first of Operations only for an equivalent resource. The webhook or the policy
	// then gets objects of that resource (matchPolicy Equivalent).
	As *trace.Resource `json:"as,omitempty"`
}

// matrix serves MatrixPath.
func (t *Trace) matrix(w http.ResponseWriter, req *http.Request) error {
	columns, err := t.configurations.columns(req.Context())
	if err != nil {
		return err
	}
	_, lists, err := t.Discovery.ServerGroupsAndResources()
	// A group whose server doesn't answer must not hide the other groups.
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return err
	}
	matrix := Matrix{Columns: []MatrixColumn{}, Resources: []MatrixResource{}}
	for _, column := range columns {
		matrix.Columns = append(matrix.Columns, column.MatrixColumn)
	}
	for _, resource := range sorted(lists) {
		row := MatrixResource{Resource: trace.Resource{Group: resource.Group, Version: resource.Version, Resource: resource.Resource, Subresource: resource.Subresource}}
		for _, column := range columns {
			row.Cells = append(row.Cells, t.cell(column, resource))
		}
		if slices.ContainsFunc(row.Cells, func(c *MatrixCell) bool { return c != nil }) {
			matrix.Resources = append(matrix.Resources, row)
		}
	}
	return answer(w, matrix)
}

// cell returns the cell in the column of a webhook or a policy, and in the row of a resource. It returns nil if no
// operation on the resource calls the webhook or evaluates the policy, for example because the admission plugin is off.
func (t *Trace) cell(column column, resource resources.Resource) *MatrixCell {
	if column.Unbound || !t.Runs(column.plugin) {
		return nil
	}
	var cell *MatrixCell
	namespace := ""
	if resource.Namespaced {
		namespace = metav1.NamespaceDefault
	}
	for _, operation := range resource.Operations() {
		attributes := admission.NewAttributesRecord(nil, nil, resource.Kind, namespace, "", resource.GroupVersionResource, resource.Subresource, admission.Operation(operation), nil, false, nil)
		if column.exemption(attributes, t.Hides(column.plugin, resource.GroupResource())) != nil {
			return nil
		}
		as, takes := column.takes(attributes, equivalents{mapper: t.Equivalents()})
		if !takes {
			continue
		}
		if cell == nil {
			cell = &MatrixCell{As: as}
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

// sorted returns the resources of discovery documents, sorted by group, resource, subresource and version.
func sorted(lists []*metav1.APIResourceList) []resources.Resource {
	all := resources.Of(lists)
	slices.SortFunc(all, func(a, b resources.Resource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Subresource, b.Subresource), cmp.Compare(a.Version, b.Version))
	})
	return all
}
