// Package podsecurity has the plugin PodSecurity (KEP-2579): it checks pods against the Pod Security Standards
// level in the labels of their namespace. k8s.io/pod-security-admission makes the decisions.
//
// The default level is "privileged", which refuses nothing. For rules that the three levels don't have, write a
// ValidatingAdmissionPolicy.
package podsecurity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/metrics/legacyregistry"
	podsecurity "k8s.io/pod-security-admission/admission"
	"k8s.io/pod-security-admission/admission/api/load"
	"k8s.io/pod-security-admission/admission/api/validation"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/metrics"
	"k8s.io/pod-security-admission/policy"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/namespaces"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "PodSecurity"

// recorder counts decisions for all servers of the process, because a metric can be registered only once.
var recorder = sync.OnceValue(func() metrics.Recorder {
	r := metrics.NewPrometheusRecorder(api.GetAPIVersion())
	r.MustRegister(legacyregistry.MustRegister)
	return r
})

// New returns the plugin. The configuration may be nil.
func New(config io.Reader) (*Plugin, error) {
	configuration, err := load.LoadFromReader(config)
	if err != nil {
		return nil, err
	}
	// Validate the configuration here, because the admission chain adds the name of the configuration file only to
	// errors of New.
	if errs := validation.ValidatePodSecurityConfiguration(configuration); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return &Plugin{
		Handler: namespaces.NewHandler(admission.Create, admission.Update),
		judge: &podsecurity.Admission{
			Configuration:    configuration,
			Metrics:          recorder(),
			PodSpecExtractor: podsecurity.DefaultPodSpecExtractor{},
		},
	}, nil
}

// Plugin refuses the requests for pods and namespaces that k8s.io/pod-security-admission doesn't allow.
type Plugin struct {
	*namespaces.Handler
	judge   *podsecurity.Admission
	version *api.Version
}

var _ admission.ValidationInterface = &Plugin{}

// InspectEffectiveVersion implements initializer.WantsEffectiveVersion. A server that emulates an older version
// makes only the checks of that version.
func (p *Plugin) InspectEffectiveVersion(version compatibility.EffectiveVersion) {
	if emulated := version.EmulationVersion(); emulated != nil {
		p.version = new(api.MajorMinorVersion(int(emulated.Major()), int(emulated.Minor())))
	}
}

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	if err := p.Handler.ValidateInitialization(); err != nil {
		return err
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), p.version)
	if err != nil {
		return err
	}
	p.judge.Evaluator = evaluator
	// The plugin lists pods when the level of a namespace changes, which is too rare for an informer.
	p.judge.PodLister = podsecurity.PodListerFromClient(p.Client)
	p.judge.NamespaceGetter = p.Handler
	if err := p.judge.CompleteConfiguration(); err != nil {
		return fmt.Errorf("configuration error: %w", err)
	}
	return p.judge.ValidateConfiguration()
}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	resource := a.GetResource().GroupResource()
	if resource != corev1.Resource("namespaces") && !p.judge.PodSpecExtractor.HasPodSpec(resource) {
		return nil
	}
	if err := p.AwaitReady(a); err != nil {
		return err
	}
	response := p.judge.Validate(ctx, attributes{a})
	for _, text := range response.Warnings {
		warning.AddWarning(ctx, "", text)
	}
	for key, value := range response.AuditAnnotations {
		audit.AddAuditAnnotation(ctx, api.AuditAnnotationPrefix+key, value)
	}
	if response.Allowed {
		return nil
	}
	return refusal(a, response)
}

// refusal returns the error in the response of k8s.io/pod-security-admission.
func refusal(a admission.Attributes, response *admissionv1.AdmissionResponse) error {
	err := admission.NewForbidden(a, errors.New("Not allowed by PodSecurity"))
	var status *apierrors.StatusError
	if response.Result == nil || !errors.As(err, &status) {
		return err
	}
	if response.Result.Message != "" {
		status.ErrStatus.Message = response.Result.Message
	}
	if response.Result.Reason != "" {
		status.ErrStatus.Reason = response.Result.Reason
	}
	if response.Result.Details != nil {
		status.ErrStatus.Details = response.Result.Details
	}
	if response.Result.Code != 0 {
		status.ErrStatus.Code = response.Result.Code
	}
	return status
}

// attributes is a request in the form that k8s.io/pod-security-admission takes. The objects need no conversion,
// because they are of versioned types already.
type attributes struct{ admission.Attributes }

func (a attributes) GetObject() (runtime.Object, error)    { return a.Attributes.GetObject(), nil }
func (a attributes) GetOldObject() (runtime.Object, error) { return a.Attributes.GetOldObject(), nil }
func (a attributes) GetOperation() admissionv1.Operation {
	return admissionv1.Operation(a.Attributes.GetOperation())
}
func (a attributes) GetUserName() string { return a.GetUserInfo().GetName() }
