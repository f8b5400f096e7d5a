package miniapitest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

// keeping has objects of a start that the first server keeps for later servers with the same options. Each server would
// store the same objects for the same requests, because no webhook and no policy of the options gets the requests. A
// start applies these objects right after the definitions.
type keeping struct {
	// name is a hash of the objects, and of all options that affect the stored objects. It is "" if there are no such
	// objects.
	name    string
	objects []manifests.Object
	// numbers maps each object to its index in objects.
	numbers map[*unstructured.Unstructured]int
	// kept is the argument of engine.Server.Keep: the index of each object in objects, with the warnings about the
	// object.
	kept []engine.Installed
	// ended is true if the server has kept the objects, or has had the objects from its start.
	ended bool
}

// keeping returns the objects of the options that can be kept. The argument early has the definitions that the server
// stores at its start.
func (o *options) keeping(early []manifests.Object) (*keeping, error) {
	k := &keeping{objects: o.keepable(early), numbers: map[*unstructured.Unstructured]int{}}
	if len(k.objects) == 0 {
		return k, nil
	}
	for i, object := range k.objects {
		k.numbers[object.Unstructured] = i
		k.kept = append(k.kept, engine.Installed{Index: i})
	}
	var err error
	k.name, err = o.nameOf(k.objects)
	return k, err
}

// keepable returns the objects that the server can keep for later servers, up to the first object that it can't keep.
// It returns none with an audit log, a data folder, controllers or flags, and if the server can't store each definition
// at its start. An audit log must have a request for each object, controllers work on the objects, and a flag may name
// a file whose content changes.
func (o *options) keepable(early []manifests.Object) []manifests.Object {
	d := o.description
	all := slices.Concat(o.objects, o.configurations)
	if d.Audit || d.DataDir != "" || len(d.Controllers) > 0 || d.Workloads != nil || len(d.Flags) > 0 || slices.ContainsFunc(all, isLater(early)) {
		return nil
	}
	var objects []manifests.Object
	configured := false
	for _, object := range all {
		gvk := object.GroupVersionKind()
		switch {
		case manifests.IsDefinition(gvk):
			continue
		case manifests.WebhookConfigurations.Has(gvk): // a server calls no webhook or policy for a configuration
			configured = true
		case configured || differs(gvk) || o.isConverted(gvk.GroupKind()):
			return objects
		}
		objects = append(objects, object.Object)
	}
	return objects
}

// isLater returns a function that tells whether an object is a definition that the server doesn't store at its start.
func isLater(early []manifests.Object) func(installed) bool {
	atStart := map[*unstructured.Unstructured]bool{}
	for _, definition := range early {
		atStart[definition.Unstructured] = true
	}
	return func(object installed) bool {
		return manifests.IsDefinition(object.GroupVersionKind()) && !atStart[object.Unstructured]
	}
}

// differs reports whether two servers may store different objects of a kind for the same request. It also returns true
// for a kind whose objects affect later objects.
func differs(gvk schema.GroupVersionKind) bool {
	switch gvk.Group {
	case admissionregistrationv1.GroupName: // policies decide about later objects, and controllers check their types
	case "apiregistration.k8s.io": // another server has the objects of an APIService's API
	case certificatesv1.GroupName: // a request for a certificate has the credentials of the client
	case flowcontrolv1.GroupName: // the server sets conditions
	case eventsv1.GroupName: // events expire
	case "":
		return gvk.Kind == "Event"
	default:
		return false
	}
	return true
}

// isConverted tells whether a webhook converts the objects of a kind.
func (o *options) isConverted(kind schema.GroupKind) bool {
	return slices.ContainsFunc(slices.Concat(o.definitions, o.objects), func(object installed) bool {
		return manifests.IsDefinition(object.GroupVersionKind()) && len(object.webhooks) > 0 && manifests.Defines(object.Object, kind)
	})
}

// nameOf returns a hash of the options of the server, its definitions and the objects. The hash doesn't depend on the
// addresses of the fixture's webhooks, because the objects don't have these addresses.
func (o *options) nameOf(objects []manifests.Object) (string, error) {
	d := o.description
	d.Leftover, d.Services = "", slices.Clone(d.Services)
	for i := range d.Services {
		d.Services[i].Address = ""
	}
	settings, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	contents := append([]*engine.Content{{JSON: settings}}, d.Definitions...)
	for _, object := range objects {
		content, err := object.Encoded()
		if err != nil {
			return "", err
		}
		contents = append(contents, content)
	}
	all := sha256.New()
	for _, content := range contents {
		sum := content.Sum()
		_, _ = all.Write(sum[:]) // a hash accepts every write
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

// split splits the objects of a step. The second part begins with the first object that the server can't keep for later
// servers, and that is no definition.
func (k *keeping) split(objects []manifests.Object) (before, after []manifests.Object) {
	at := slices.IndexFunc(objects, func(object manifests.Object) bool {
		_, kept := k.numbers[object.Unstructured]
		return !kept && !manifests.IsDefinition(object.GroupVersionKind())
	})
	if at < 0 {
		return objects, nil
	}
	return objects[:at], objects[at:]
}

// warn adds a warning about an object to the object's entry in k.kept, so that later servers give the same warning. It
// does nothing if k doesn't have the object.
func (k *keeping) warn(object manifests.Object, text string) {
	if i, kept := k.numbers[object.Unstructured]; kept {
		k.kept[i].Warnings = append(k.kept[i].Warnings, text)
	}
}

// end makes the server keep k.objects for later servers. The caller must have applied these objects and definitions,
// and nothing else. Further calls do nothing.
func (k *keeping) end(ctx context.Context, server engine.Server) error {
	if k.ended || k.name == "" {
		return nil
	}
	k.ended = true
	return server.Keep(ctx, k.kept)
}
