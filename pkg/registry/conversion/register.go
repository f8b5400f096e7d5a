package conversion

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// Function is a conversion from one Go type to another. Canonical, Renamed, Different, Generated, Both and BothLike make
// it.
type Function struct {
	from, to any // nil pointers of the two types
	convert  conversion.ConversionFunc
}

// Pair is the Go type of a kind in the hub, and in another version. The hub is the version to which all others
// convert.
type Pair struct {
	Hub, Version reflect.Type
}

// Register adds conversions to the scheme, in both directions for each pair. Fields are copied by their JSON names,
// unless functions has a conversion for the two types.
//
// Each type of the scheme also gets a conversion that copies an object to an object of the same type. The Go type of
// the hub is registered twice: in its own version and in "__internal". Admission converts between these two versions by
// this conversion.
func Register(s *runtime.Scheme, pairs []Pair, functions []Function) error {
	var all []Function
	for _, p := range pairs {
		all = append(all, same(p.Version, p.Hub), same(p.Hub, p.Version))
	}
	for _, t := range s.AllKnownTypes() {
		all = append(all, identity(t))
	}
	all = append(all, functions...) // if several functions are for the same types, the last one counts
	for _, f := range all {
		if err := s.AddConversionFunc(f.from, f.to, f.convert); err != nil {
			return fmt.Errorf("registering the conversion of %T to %T: %w", f.from, f.to, err)
		}
	}
	return nil
}

// same returns a conversion between types with the same JSON. Lists are converted item by item. A field of out that
// doesn't exist in the other type keeps its value, as in Kubernetes' generated conversions. Therefore, a webhook that
// changes a v1 object doesn't clear the fields that only v1beta1 has.
func same(from, to reflect.Type) Function {
	f := Function{from: reflect.Zero(reflect.PointerTo(from)).Interface(), to: reflect.Zero(reflect.PointerTo(to)).Interface()}
	if _, isList := from.FieldByName("Items"); isList {
		f.convert = convertList
		return f
	}
	kept := fieldsWithout(to, from)
	f.convert = func(in, out any, _ conversion.Scope) error {
		fresh := reflect.New(to)
		for _, field := range kept {
			fresh.Elem().FieldByIndex(field).Set(reflect.ValueOf(out).Elem().FieldByIndex(field))
		}
		if err := CopyFields(in, fresh.Interface()); err != nil {
			return err
		}
		assign(out, fresh.Interface())
		return nil
	}
	return f
}

// identity returns a conversion that copies an object to another object of the same type.
func identity(t reflect.Type) Function {
	p := reflect.Zero(reflect.PointerTo(t)).Interface()
	return Function{from: p, to: p, convert: func(in, out any, _ conversion.Scope) error {
		assign(out, in)
		return nil
	}}
}

// Canonical makes the conversion of a type of the hub to itself. canonical gets a shallow copy of the object.
func Canonical(of runtime.Object, canonical func(runtime.Object) error) Function {
	return Function{from: of, to: of, convert: func(in, out any, _ conversion.Scope) error {
		assign(out, in)
		return canonical(out.(runtime.Object))
	}}
}

// Renamed makes a conversion for types whose JSON differs in a few places. It copies the fields with the same
// names. The function adjust sets the other fields of out. The fields of out may share memory with in.
func Renamed[In, Out any](adjust func(in *In, out *Out) error) Function {
	return Different(Adjusted(adjust))
}

// Adjusted returns the function of the conversion that Renamed makes. Both and BothLike take it.
func Adjusted[In, Out any](adjust func(in *In, out *Out) error) func(in *In, out *Out) error {
	return func(in *In, out *Out) error {
		if err := CopyFields(in, out); err != nil {
			return err
		}
		return adjust(in, out)
	}
}

// Both makes the conversions of two types in both directions.
func Both[Version, Hub any](toHub func(in *Version, out *Hub) error, fromHub func(in *Hub, out *Version) error) []Function {
	return []Function{Different(toHub), Different(fromHub)}
}

// BothLike makes the conversions of a further version, whose JSON is the same as that of the type Like. toHub and
// fromHub are the functions of Both for the type Like.
func BothLike[Version, Like, Hub any](toHub func(in *Like, out *Hub) error, fromHub func(in *Hub, out *Like) error) []Function {
	return Both(
		func(in *Version, out *Hub) error {
			var like Like
			if err := CopyFields(in, &like); err != nil {
				return err
			}
			return toHub(&like, out)
		},
		func(in *Hub, out *Version) error {
			var like Like
			if err := fromHub(in, &like); err != nil {
				return err
			}
			return CopyFields(&like, out)
		})
}

// Different makes a conversion for types that have little in common. convert gets an empty out, and sets all its
// fields.
func Different[In, Out any](convert func(in *In, out *Out) error) Function {
	return Generated(func(in *In, out *Out, _ conversion.Scope) error { return convert(in, out) })
}

// Generated makes a conversion of a function that Kubernetes' conversion-gen has written. convert gets an empty out,
// and sets all its fields. The fields of out may share memory with in.
func Generated[In, Out any](convert func(in *In, out *Out, scope conversion.Scope) error) Function {
	return Function{from: (*In)(nil), to: (*Out)(nil), convert: func(in, out any, scope conversion.Scope) error {
		var fresh Out
		if err := convert(in.(*In), &fresh, scope); err != nil {
			return fmt.Errorf("converting %T to %T: %w", in, out, err)
		}
		assign(out, &fresh)
		return nil
	}}
}
