package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// answer is the storage of a kind whose objects are never stored, such as TokenReview. A client creates an object,
// which is the question. The server fills in the object and returns it as the answer.
type answer struct {
	kind *Kind
	to   AnswerFunc
}

// AnswerFunc returns the answer to a question, such as a SubjectAccessReview. It is called after admission.
type AnswerFunc func(ctx context.Context, question runtime.Object) (runtime.Object, error)

var (
	_ rest.Creater              = &answer{}
	_ rest.Scoper               = &answer{}
	_ rest.SingularNameProvider = &answer{}
)

func (a *answer) New() runtime.Object     { return NewOf(a.kind.Object)() }
func (a *answer) NamespaceScoped() bool   { return a.kind.Namespaced }
func (a *answer) GetSingularName() string { return a.kind.SingularName() }

// Destroy does nothing: nothing is stored.
func (a *answer) Destroy() {}

// Create returns the object with the answer. Admission runs first, on the object with the question.
func (a *answer) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	if validate != nil {
		if err := validate(ctx, obj.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	return a.to(ctx, obj)
}
