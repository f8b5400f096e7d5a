package snapshot

import (
	"path"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// locations maps etcd keys to resources.
type locations struct {
	root        string
	byPrefix    map[string][]schema.GroupResource
	definitions string
}

func (s *Snapshots) locate() locations {
	root := s.Root
	l := locations{root: root, byPrefix: map[string][]schema.GroupResource{}}
	for resource, prefix := range s.Table.StoragePrefixes() {
		key := root + path.Join("/", prefix)
		l.byPrefix[key] = append(l.byPrefix[key], resource)
	}
	l.definitions = root + path.Join("/", apiextensionsv1.GroupName, "customresourcedefinitions")
	return l
}

// resources returns the resources that are stored at the prefix of the key.
func (l locations) resources(key string) []schema.GroupResource {
	for prefix := path.Dir(key); prefix != "/" && prefix != "."; prefix = path.Dir(prefix) {
		if resources := l.byPrefix[prefix]; resources != nil {
			return resources
		}
	}
	return []schema.GroupResource{l.customResource(key)}
}

// customResource returns the custom resource of a key. The key has the form ROOT/GROUP/RESOURCE/[NAMESPACE/]NAME, and
// doesn't belong to a built-in resource.
func (l locations) customResource(key string) schema.GroupResource {
	group, rest, _ := strings.Cut(strings.TrimPrefix(key, l.root+"/"), "/")
	resource, _, _ := strings.Cut(rest, "/")
	return schema.GroupResource{Group: group, Resource: resource}
}

func (l locations) defines(key string) bool { return strings.HasPrefix(key, l.definitions+"/") }

// definedBy returns the custom resource of a custom resource definition. The key of the definition ends in
// RESOURCE.GROUP.
func definedBy(key string) schema.GroupResource { return schema.ParseGroupResource(path.Base(key)) }
