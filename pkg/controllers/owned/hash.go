package owned

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"
)

// TemplateHash returns the hash of a pod template, as kube-controller-manager computes it for names and labels. collisions,
// if it isn't nil, is the number of collisions that the owner has had, and makes another hash.
func TemplateHash(template *corev1.PodTemplateSpec, collisions *int32) (string, error) {
	// The hash is of a dump of all fields, also of those that JSON doesn't have. Therefore the template must be as a
	// client gets it from the server: a list is nil and not empty, and a quantity has no cached text.
	encoded, err := template.Marshal()
	if err != nil {
		return "", err
	}
	var received corev1.PodTemplateSpec
	if err := received.Unmarshal(encoded); err != nil {
		return "", err
	}
	hash := fnv.New32a()
	fmt.Fprint(hash, dump.ForHash(received))
	if collisions != nil {
		_, _ = hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(uint32(*collisions)))) // a hash has no errors
	}
	return rand.SafeEncodeString(fmt.Sprint(hash.Sum32())), nil
}
