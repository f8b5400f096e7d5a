// Package alwayspullimages has the plugin AlwaysPullImages: a node pulls all images of a pod anew, with the pod's
// credentials. So a pod can't use the private image of another user that is on the node already.
//
// The plugin is off by default. It is for nodes that are shared by users who don't trust each other. On other
// nodes, it only makes each container wait for a registry. Like kube-apiserver, the plugin ignores the subresource
// ephemeralcontainers.
package alwayspullimages

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "AlwaysPullImages"

// New returns the plugin.
func New() *Plugin {
	return &Plugin{admission.NewHandler(admission.Create, admission.Update)}
}

// Plugin sets pull policies.
type Plugin struct{ *admission.Handler }

var (
	_ admission.MutationInterface   = &Plugin{}
	_ admission.ValidationInterface = &Plugin{}
)

// Admit implements admission.MutationInterface.
func (*Plugin) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod, err := podWithNewImages(a)
	if pod == nil || err != nil {
		return err
	}
	for _, image := range images(pod) {
		*image.policy = corev1.PullAlways
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (*Plugin) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod, err := podWithNewImages(a)
	if pod == nil || err != nil {
		return err
	}
	var errs []error
	for _, image := range images(pod) {
		if *image.policy != corev1.PullAlways {
			errs = append(errs, admission.NewForbidden(a, field.NotSupported(image.path, *image.policy, []string{string(corev1.PullAlways)})))
		}
	}
	return utilerrors.NewAggregate(errs)
}

// podWithNewImages returns the pod of a request that may add images. It returns nil for other requests.
func podWithNewImages(a admission.Attributes) (*corev1.Pod, error) {
	if a.GetResource().GroupResource() != corev1.Resource("pods") || a.GetSubresource() != "" {
		return nil, nil
	}
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok {
		return nil, apierrors.NewBadRequest("Resource was marked with kind Pod but was unable to be converted")
	}
	if old, ok := a.GetOldObject().(*corev1.Pod); ok && a.GetOperation() == admission.Update {
		if names(old).IsSuperset(names(pod)) {
			return nil, nil
		}
	}
	return pod, nil
}

// image is a reference to an image in a pod.
type image struct {
	name   string
	policy *corev1.PullPolicy
	path   *field.Path
}

// images returns all images of a pod, in containers and in volumes.
func images(pod *corev1.Pod) []image {
	spec := field.NewPath("spec")
	var found []image
	for path, container := range podspec.Containers(&pod.Spec, spec) {
		found = append(found, image{container.Image, &container.ImagePullPolicy, path.Child("imagePullPolicy")})
	}
	for i := range pod.Spec.Volumes {
		if volume := pod.Spec.Volumes[i].Image; volume != nil {
			found = append(found, image{volume.Reference, &volume.PullPolicy, spec.Child("volumes").Index(i).Child("image", "pullPolicy")})
		}
	}
	return found
}

func names(pod *corev1.Pod) sets.Set[string] {
	found := sets.New[string]()
	for _, image := range images(pod) {
		found.Insert(image.name)
	}
	return found
}
