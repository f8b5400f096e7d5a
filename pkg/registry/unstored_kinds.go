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

// AnswerFunc returns the answer to a question, such as a SubjectAccessReview. It is called after mutating admission. After
// its own checks of the question, it calls admit, which runs validating admission.
type AnswerFunc func(ctx context.Context, question runtime.Object, admit func() error) (runtime.Object, error)

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

// Create returns the object with the answer.
func (a *answer) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	return a.to(ctx, obj, func() error {
		if validate == nil {
			return nil
		}
		return validate(ctx, obj.DeepCopyObject())
	})
}
