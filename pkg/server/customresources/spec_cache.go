package customresources

import (
	"bytes"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// mostSpecs is the maximum number of remembered specs. Only a few definitions are written at the same time.
const mostSpecs = 16

// specs are the specs that a server has stored last. A new definition is stored three times and decoded after each
// write: for the answer, for the informer and for the next write. The spec is most of the definition, and is the same
// each time. The zero value remembers nothing.
type specs struct {
	// decode decodes a whole definition, without the remembered specs.
	decode func(data []byte) (*apiextensions.CustomResourceDefinition, error)

	mu   sync.Mutex
	last []*storedSpec // the most recent spec comes last
}

// storedSpec is a spec in several forms. No caller may change them.
type storedSpec struct {
	data     []byte
	internal func() (*apiextensions.CustomResourceDefinitionSpec, error)
	v1       func() (*apiextensionsv1.CustomResourceDefinitionSpec, error)
}

// remember keeps the spec of a definition that is about to be stored.
func (s *specs) remember(data []byte) {
	_, spec, ok := withoutSpec(data)
	if !ok || s.decode == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	made := s.find(spec)
	if made == nil {
		made = s.make(bytes.Clone(spec))
	}
	s.last = append(slices.DeleteFunc(s.last, func(other *storedSpec) bool { return other == made }), made)
	if len(s.last) > mostSpecs {
		s.last = slices.Delete(s.last, 0, 1)
	}
}

// of returns a stored definition without its spec, and the remembered spec. If the spec isn't remembered, stored is
// nil.
func (s *specs) of(data []byte) (rest []byte, stored *storedSpec) {
	s.mu.Lock()
	none := len(s.last) == 0
	s.mu.Unlock()
	if none {
		return nil, nil
	}
	rest, spec, ok := withoutSpec(data)
	if !ok {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return rest, s.find(spec)
}

func (s *specs) find(spec []byte) *storedSpec {
	for _, stored := range s.last {
		if bytes.Equal(stored.data, spec) {
			return stored
		}
	}
	return nil
}

func (s *specs) make(data []byte) *storedSpec {
	made := &storedSpec{data: data}
	made.internal = sync.OnceValues(func() (*apiextensions.CustomResourceDefinitionSpec, error) {
		crd, err := s.decode(slices.Concat([]byte(beforeSpec), data, []byte("}")))
		if err != nil {
			return nil, err
		}
		return &crd.Spec, nil
	})
	made.v1 = sync.OnceValues(func() (*apiextensionsv1.CustomResourceDefinitionSpec, error) {
		internal, err := made.internal()
		if err != nil {
			return nil, err
		}
		spec := &apiextensionsv1.CustomResourceDefinitionSpec{}
		return spec, apiextensionsv1.Convert_apiextensions_CustomResourceDefinitionSpec_To_v1_CustomResourceDefinitionSpec(internal, spec, nil)
	})
	return made
}

// decodeServed decodes a definition to v1. The result shares its spec with earlier results that have the same spec. The
// result is nil if the spec isn't remembered, or if status.storedVersions is empty. The function decode decodes the
// part without the spec.
func (s *specs) decodeServed(data []byte, decode func([]byte) (runtime.Object, error)) (*apiextensionsv1.CustomResourceDefinition, error) {
	rest, stored := s.of(data)
	if stored == nil {
		return nil, nil
	}
	spec, err := stored.v1()
	if err != nil {
		return nil, err
	}
	obj, err := decode(rest)
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if internal, ok := obj.(*apiextensions.CustomResourceDefinition); !ok || len(internal.Status.StoredVersions) == 0 {
		return nil, nil
	} else if err := apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(internal, crd, nil); err != nil {
		return nil, err
	}
	crd.Spec = *spec
	return crd, nil
}

const (
	// beforeSpec is the beginning of a definition without metadata, up to the spec.
	beforeSpec = `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1","spec":`
	emptySpec  = "{}"
)

// withoutSpec separates the spec from a definition that the server has encoded. In rest, an empty spec replaces the
// spec.
func withoutSpec(data []byte) (rest, spec []byte, ok bool) {
	from, depth := 0, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			end := endOfString(data, i)
			if depth == 1 && from == 0 && bytes.HasPrefix(data[i:], []byte(`"spec":`)) {
				from = end + len(`":`)
			}
			i = end
		case '{', '[':
			depth++
		case '}', ']', ',':
			if depth == 1 && from > 0 {
				return slices.Concat(data[:from], []byte(emptySpec), data[i:]), data[from:i], true
			}
			if data[i] != ',' {
				depth--
			}
		}
	}
	return nil, nil, false
}

// endOfString returns the index of the quote that ends a JSON string, or the length of the data.
func endOfString(data []byte, begin int) int {
	for i := begin + 1; ; i++ {
		quote := bytes.IndexByte(data[i:], '"')
		if quote < 0 {
			return len(data)
		}
		i += quote
		escapes := 0
		for data[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}
