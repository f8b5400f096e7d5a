package miniapitest

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

// installed is an object that Start applies, with the webhooks that the server calls because of it.
type installed struct {
	manifests.Object
	webhooks []engine.Webhook
}

// add appends objects to one of the lists that Start applies.
func add(to *[]installed, objects []manifests.Object) error {
	for _, object := range objects {
		webhooks, err := webhooksOf(object)
		if err != nil {
			return err
		}
		*to = append(*to, installed{object, webhooks})
	}
	return nil
}

// step is a set of objects that are applied one after the other, and of webhooks that must be reachable afterwards.
type step struct {
	objects  []manifests.Object
	webhooks []engine.Webhook
}

// steps returns the steps of a start in their order. The definitions come first, because objects need them. Then come
// the objects. The configurations come last: otherwise the server would call their webhooks for the objects. If an
// element of the list objects names webhooks, the server must reach these webhooks before the next element is applied.
// If the address of a webhook comes from one of the objects, the server must reach this webhook only after the last
// object.
func (o *options) steps(info engine.Info) []step {
	var late []engine.Webhook
	steps := []step{together(o.definitions), {}}
	for _, object := range o.objects {
		last := &steps[len(steps)-1]
		last.objects = append(last.objects, object.Object)
		for _, webhook := range object.webhooks {
			if o.isLate(info, webhook) {
				late = append(late, webhook)
			} else {
				last.webhooks = append(last.webhooks, webhook)
			}
		}
		if len(last.webhooks) > 0 {
			steps = append(steps, step{})
		}
	}
	return append(steps, step{webhooks: late}, together(o.configurations))
}

func together(objects []installed) step {
	var s step
	for _, object := range objects {
		s.objects = append(s.objects, object.Object)
		s.webhooks = append(s.webhooks, object.webhooks...)
	}
	return s
}

// isLate reports whether the server gets the address of the webhook's service from one of the objects: a Service of the
// type ExternalName, Endpoints or an EndpointSlice. The server can't reach such a webhook before the objects are
// applied.
func (o *options) isLate(info engine.Info, webhook engine.Webhook) bool {
	service := webhook.Service
	return service != nil && info.PlaceOf(service.Namespace, service.Name, service.Port) == "" && slices.ContainsFunc(o.objects, func(object installed) bool {
		name := object.GetName()
		switch gvk := object.GroupVersionKind(); {
		case gvk == corev1.SchemeGroupVersion.WithKind("Service"):
			if kind, _, _ := unstructured.NestedString(object.Object.Object, "spec", "type"); kind != string(corev1.ServiceTypeExternalName) {
				return false
			}
		case gvk == corev1.SchemeGroupVersion.WithKind("Endpoints"):
		case gvk.Group == discoveryv1.GroupName && gvk.Kind == "EndpointSlice":
			name = object.GetLabels()[discoveryv1.LabelServiceName]
		default:
			return false
		}
		namespace := object.GetNamespace()
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		return namespace == service.Namespace && name == service.Name
	})
}

// early returns the definitions that the server can store at its start, before any other object.
func (o *options) early() []manifests.Object {
	var objects []manifests.Object
	for _, definition := range o.definitions {
		objects = append(objects, definition.Object)
	}
	var others []manifests.Object
	for _, object := range o.objects {
		others = append(others, object.Object)
	}
	return append(objects, manifests.AtStart(others)...)
}

// describe adds the definitions in early to the server's description. It also adds the name under which an earlier
// server may have kept objects for this server, and returns these objects.
func (o *options) describe(early []manifests.Object) (*keeping, error) {
	o.description.DefinitionManager = manifests.FieldManager
	for _, object := range early {
		content, err := object.Encoded()
		if err != nil {
			return nil, err
		}
		o.description.Definitions = append(o.description.Definitions, content)
	}
	keeping, err := o.keeping(early)
	if err != nil {
		return nil, err
	}
	o.description.Kept = keeping.name
	return keeping, nil
}

// install applies the objects of the options, except for the objects that the server has from its start. It also checks
// once for each address of a webhook that the server can reach the address.
func (s *Server) install(ctx context.Context, o *options, early []manifests.Object, keeping *keeping) error {
	info, reached := s.server.Info(), map[string]bool{}
	applier := s.applier()
	there := stored(applier, early, info.Installed)
	maps.Copy(there, stored(applier, keeping.objects, info.Kept))
	keeping.ended = len(info.Kept) > 0
	applier.There = func(object manifests.Object) bool { return there[object.Unstructured] }
	tell := applier.Warn
	applier.Warn = func(object manifests.Object, text string) {
		keeping.warn(object, text)
		tell(object, text)
	}
	for _, step := range o.steps(info) {
		before, after := keeping.split(step.objects)
		if err := applier.Apply(ctx, before); err != nil {
			return explainUnknown(err)
		}
		if len(after) > 0 {
			if err := keeping.end(ctx, s.server); err != nil {
				return err
			}
		}
		if err := applier.Apply(ctx, after); err != nil {
			return explainUnknown(err)
		}
		for _, webhook := range step.webhooks {
			address := addressOf(webhook)
			if reached[address] {
				continue
			}
			if err := s.server.Reach(ctx, webhook, o.reachTimeout); err != nil {
				return explainUnreached(webhook, info, s.webhooks.address(), err)
			}
			reached[address] = true
		}
	}
	return keeping.end(ctx, s.server)
}

// stored returns the set of objects that the server has from its start. It passes the server's warnings about these
// objects to the applier.
func stored(applier manifests.Applier, objects []manifests.Object, installed []engine.Installed) map[*unstructured.Unstructured]bool {
	there := map[*unstructured.Unstructured]bool{}
	for _, i := range installed {
		there[objects[i.Index].Unstructured] = true
		applier.Tell(objects[i.Index], i.Warnings)
	}
	return there
}
