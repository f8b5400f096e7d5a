package apps

import (
	"context"
	"fmt"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// rollbackREST serves deployments/rollback, which asks the deployment controller for an earlier revision of a
// Deployment. The request is an annotation of the stored Deployment, the field spec.rollbackTo of the versions that
// serve the subresource.
type rollbackREST struct{ deployments *registry.Storage }

var (
	_ rest.NamedCreater    = &rollbackREST{}
	_ rest.StorageMetadata = &rollbackREST{}
)

func newRollback(deployments *registry.Storage, _ registry.Dependencies) (rest.Storage, error) {
	return &rollbackREST{deployments}, nil
}

func (r *rollbackREST) New() runtime.Object { return &appsv1beta1.DeploymentRollback{} }

// Destroy does nothing, because the storage of deployments destroys the store.
func (r *rollbackREST) Destroy() {}

func (r *rollbackREST) ProducesMIMETypes(string) []string { return nil }

// ProducesObject returns the Go type of the answer, for the OpenAPI document.
func (r *rollbackREST) ProducesObject(string) any { return metav1.Status{} }

// Create records the request in the Deployment in the path of the request.
func (r *rollbackREST) Create(ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	rollback, ok := obj.(*appsv1beta1.DeploymentRollback)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a DeploymentRollback: %#v", obj))
	}
	if errs := validateRollback(rollback); len(errs) > 0 {
		return nil, apierrors.NewInvalid(appsv1.SchemeGroupVersion.WithKind("DeploymentRollback").GroupKind(), rollback.Name, errs)
	}
	if name != rollback.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in DeploymentRollback object")
	}
	if validate != nil {
		if err := validate(ctx, rollback.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	err := registry.Change(ctx, r.deployments, name, nil, options.DryRun, func(d *appsv1.Deployment) error {
		for k, v := range rollback.UpdatedAnnotations {
			metav1.SetMetaDataAnnotation(&d.ObjectMeta, k, v)
		}
		annotate(&d.Annotations, appsv1.DeprecatedRollbackTo, &rollback.RollbackTo.Revision)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &metav1.Status{
		Status: metav1.StatusSuccess, Code: http.StatusOK,
		Message: fmt.Sprintf("rollback request for deployment %q succeeded", name),
	}, nil
}

func validateRollback(r *appsv1beta1.DeploymentRollback) field.ErrorList {
	var f validation.Findings
	f.Merge(apivalidation.ValidateAnnotations(r.UpdatedAnnotations, field.NewPath("updatedAnnotations")))
	f.AddIf(r.Name == "", field.Required(field.NewPath("name"), ""))
	f.Merge(validation.Nonnegative(field.NewPath("rollback", "version"), r.RollbackTo.Revision))
	return f.Errs
}
