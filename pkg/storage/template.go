package storage

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// Template is an encoded object that many servers store, each with its own UID and times. A copy takes a fraction of the
// time of encoding the object.
type Template struct {
	data []byte
	// open has the positions in data of the UID and of the times, by their form.
	open [len(forms{})][]int
}

// forms are the forms in which encoded objects have a UID and a time: the UID in text, the time in text, and the time in
// protobuf. Each form has the same length for all values, in protobuf for the times from 1978 to 3058.
type forms [3][]byte

func formsOf(uid types.UID, now time.Time) forms {
	return forms{[]byte(uid), []byte(now.UTC().Format(time.RFC3339)), binary.AppendUvarint(nil, uint64(now.Unix()))}
}

// NewTemplate encodes an object, which it changes as Renew does.
func NewTemplate(object runtime.Object, encode func(runtime.Object) ([]byte, error)) (Template, error) {
	const beyond = 1 << 34 // seconds, until 2514
	// The values are random, so that the object has them in the renewed fields alone.
	uid, at := uuid.NewUUID(), time.Unix(beyond+rand.Int64N(beyond), 0)
	if err := Renew(object, uid, metav1.NewTime(at)); err != nil {
		return Template{}, err
	}
	data, err := encode(object)
	t := Template{data: data}
	for i, value := range formsOf(uid, at) {
		t.open[i] = indexesOf(data, value)
	}
	return t, err
}

// Copy returns the encoded object with a UID and the present time of a server.
func (t Template) Copy(uid types.UID, now time.Time) []byte {
	data := bytes.Clone(t.data)
	for i, value := range formsOf(uid, now) {
		for _, at := range t.open[i] {
			copy(data[at:], value)
		}
	}
	return data
}

// Size returns the number of bytes of the encoded object.
func (t Template) Size() int { return len(t.data) }

func indexesOf(data, value []byte) []int {
	var indexes []int
	for from := 0; ; {
		at := bytes.Index(data[from:], value)
		if at < 0 {
			return indexes
		}
		indexes = append(indexes, from+at)
		from += at + len(value)
	}
}

// Renew makes the copy of a stored object ready for another server. It replaces the UID, if there is one, and clears the
// resource version. It sets the times of the creation, of the managed fields and of the conditions to now. The copy may
// share all slices and maps with other copies.
func Renew(object runtime.Object, uid types.UID, now metav1.Time) error {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	if accessor.GetUID() != "" {
		accessor.SetUID(uid)
	}
	accessor.SetResourceVersion("")
	accessor.SetCreationTimestamp(now)
	managers := slices.Clone(accessor.GetManagedFields())
	for i := range managers {
		managers[i].Time = &now
	}
	accessor.SetManagedFields(managers)
	renewConditions(object, now)
	return nil
}

// renewConditions sets the times of the conditions in the status of a typed object.
func renewConditions(object runtime.Object, now metav1.Time) {
	status := reflect.Indirect(reflect.ValueOf(object)).FieldByName("Status")
	if status.Kind() != reflect.Struct {
		return
	}
	conditions := status.FieldByName("Conditions")
	if conditions.Kind() != reflect.Slice {
		return
	}
	renewed := reflect.AppendSlice(reflect.MakeSlice(conditions.Type(), 0, conditions.Len()), conditions)
	for i := range renewed.Len() {
		if at := renewed.Index(i).FieldByName("LastTransitionTime"); at.IsValid() {
			at.Set(reflect.ValueOf(now))
		}
	}
	if renewed.Len() > 0 {
		conditions.Set(renewed)
	}
}
