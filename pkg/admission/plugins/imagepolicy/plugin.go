// Package imagepolicy has the plugin ImagePolicyWebhook: it sends the images of a pod to a backend, and the backend
// decides whether the pod may run. The plugin's request is an ImageReview (imagepolicy.k8s.io/v1alpha1).
//
// The plugin is off by default, and needs a configuration. It is for backends that implement ImageReview. Otherwise,
// use a validating webhook: it gets the whole pod, and is configured through the API.
package imagepolicy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "ImagePolicyWebhook"

const (
	// annotated is a part of annotation keys. The backend gets the pod's annotations whose keys contain it.
	annotated = ".image-policy.k8s.io/"
	// auditPrefix is the prefix of the audit annotations of this plugin and of its backend.
	auditPrefix = "imagepolicywebhook.image-policy.k8s.io/"
	// failedOpen is the last part of two keys: of an annotation of a pod that was admitted although the backend failed,
	// and of an audit annotation of the request.
	failedOpen           = "failed-open"
	failedOpenAnnotation = "alpha.image-policy.k8s.io/" + failedOpen

	// cachedAnswers is the greatest number of the backend's answers that are cached.
	cachedAnswers = 1024
)

// New returns the plugin. The configuration is required.
func New(config io.Reader) (*Plugin, error) {
	if config == nil {
		return nil, errors.New("a configuration is required: in the file of --admission-control-config-file, imagePolicy.kubeConfigFile names the kubeconfig with the backend's address")
	}
	settings, err := readSettings(config)
	if err != nil {
		return nil, err
	}
	client, err := webhook.LoadKubeconfig(settings.kubeconfig, nil)
	if err != nil {
		return nil, fmt.Errorf("imagePolicy.kubeConfigFile: %s: %w", settings.kubeconfig, err)
	}
	scheme := runtime.NewScheme()
	if err := imagepolicyv1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	backend, err := webhook.NewGenericWebhook(scheme, serializer.NewCodecFactory(scheme), client,
		[]schema.GroupVersion{imagepolicyv1alpha1.SchemeGroupVersion}, webhook.DefaultRetryBackoffWithInitialDelay(settings.retryBackoff))
	if err != nil {
		return nil, fmt.Errorf("imagePolicy.kubeConfigFile %s: %w", settings.kubeconfig, err)
	}
	return &Plugin{
		Handler: admission.NewHandler(admission.Create, admission.Update),
		backend: backend, settings: settings, answers: cache.NewLRUExpireCache(cachedAnswers),
	}, nil
}

// Plugin refuses pods whose images the backend doesn't allow.
type Plugin struct {
	*admission.Handler
	backend  *webhook.GenericWebhook
	settings settings
	answers  *cache.LRUExpireCache
}

var _ admission.ValidationInterface = &Plugin{}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod, isPod := a.GetObject().(*corev1.Pod)
	images := imagesOf(pod, a.GetSubresource())
	if a.GetResource().GroupResource() != corev1.Resource("pods") || !isPod || len(images) == 0 {
		return nil
	}
	answer, err := p.ask(ctx, imagepolicyv1alpha1.ImageReviewSpec{
		Containers: images, Annotations: annotationsOf(pod), Namespace: a.GetNamespace(),
	})
	if err != nil {
		return p.failed(ctx, a, pod, err)
	}
	for key, value := range answer.AuditAnnotations {
		if err := a.AddAnnotation(auditPrefix+key, value); err != nil {
			klog.FromContext(ctx).Error(err, "an audit annotation of an image policy is dropped", "key", key)
		}
	}
	switch {
	case answer.Allowed:
		return nil
	case answer.Reason == "":
		return admission.NewForbidden(a, errors.New("one or more images rejected by webhook backend"))
	}
	return admission.NewForbidden(a, fmt.Errorf("image policy webhook backend denied one or more images: %s", answer.Reason))
}

// imagesOf returns the images that a request sets. For the subresource ephemeralcontainers, these are the images of the
// ephemeral containers. For the pod itself, these are the images of its containers and init containers.
func imagesOf(pod *corev1.Pod, subresource string) []imagepolicyv1alpha1.ImageReviewContainerSpec {
	var images []imagepolicyv1alpha1.ImageReviewContainerSpec
	add := func(image string) {
		images = append(images, imagepolicyv1alpha1.ImageReviewContainerSpec{Image: image})
	}
	switch {
	case pod == nil:
	case subresource == "":
		for i := range pod.Spec.Containers {
			add(pod.Spec.Containers[i].Image)
		}
		for i := range pod.Spec.InitContainers {
			add(pod.Spec.InitContainers[i].Image)
		}
	case subresource == "ephemeralcontainers":
		for i := range pod.Spec.EphemeralContainers {
			add(pod.Spec.EphemeralContainers[i].Image)
		}
	}
	return images
}

func annotationsOf(pod *corev1.Pod) map[string]string {
	annotations := map[string]string{}
	for key, value := range pod.Annotations {
		if strings.Contains(key, annotated) {
			annotations[key] = value
		}
	}
	return annotations
}

// ask returns the backend's answer, or a cached answer.
func (p *Plugin) ask(ctx context.Context, spec imagepolicyv1alpha1.ImageReviewSpec) (imagepolicyv1alpha1.ImageReviewStatus, error) {
	key, err := json.Marshal(spec)
	if err != nil {
		return imagepolicyv1alpha1.ImageReviewStatus{}, err
	}
	if answer, ok := p.answers.Get(string(key)); ok {
		return answer.(imagepolicyv1alpha1.ImageReviewStatus), nil
	}
	review := &imagepolicyv1alpha1.ImageReview{Spec: spec}
	result := p.backend.WithExponentialBackoff(ctx, func() rest.Result {
		return p.backend.RestClient.Post().Body(review).Do(ctx)
	})
	if err := result.Error(); err != nil {
		return review.Status, err
	}
	var code int
	if result.StatusCode(&code); code < http.StatusOK || code >= http.StatusMultipleChoices {
		return review.Status, fmt.Errorf("error contacting webhook: %d", code)
	}
	if err := result.Into(review); err != nil {
		return review.Status, err
	}
	if ttl := p.settings.ttl(review.Status.Allowed); ttl > 0 {
		p.answers.Add(string(key), review.Status, ttl)
	}
	return review.Status, nil
}

// failed admits or refuses a pod when the backend has failed, as the configuration says.
func (p *Plugin) failed(ctx context.Context, a admission.Attributes, pod *corev1.Pod, err error) error {
	klog.FromContext(ctx).Error(err, "an image policy's backend failed", "pod", klog.KObj(pod), "admitted", p.settings.defaultAllow)
	if !p.settings.defaultAllow {
		return admission.NewForbidden(a, err)
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[failedOpenAnnotation] = "true"
	if err := a.AddAnnotation(auditPrefix+failedOpen, "true"); err != nil {
		klog.FromContext(ctx).Error(err, "an audit annotation of an image policy is dropped", "key", failedOpen)
	}
	return nil
}
