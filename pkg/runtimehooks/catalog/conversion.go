package catalog

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// conversionKey identifies a conversion. The same types may be converted differently for another hook, so the key
// has the hook.
type conversionKey struct {
	hook     GroupHook
	from, to reflect.Type // struct types
}

// Conversion converts a request or a response of a hook from one version to another. The function Convert makes a
// Conversion.
type Conversion struct {
	from, to reflect.Type // struct types
	convert  func(in, out runtime.Object) error
}

// Convert makes a conversion from a function. The function gets an empty out, and fills it from in.
func Convert[In, Out any](convert func(in *In, out *Out) error) Conversion {
	return Conversion{
		from:    reflect.TypeFor[In](),
		to:      reflect.TypeFor[Out](),
		convert: func(in, out runtime.Object) error { return convert(any(in).(*In), any(out).(*Out)) },
	}
}

// AddConversions adds conversions between registered versions of a hook. A hook needs conversions of requests from
// its newest version to each older version. It needs conversions of responses from each older version to the newest
// version. Versions with the same Go type need no conversion.
func (c *Catalog) AddConversions(hook GroupHook, conversions ...Conversion) error {
	requests, responses := map[reflect.Type]bool{}, map[reflect.Type]bool{}
	for _, d := range c.Versions(hook) {
		requests[d.request], responses[d.response] = true, true
	}
	var errs []error
	for _, f := range conversions {
		ofRequests := requests[f.from] && requests[f.to]
		ofResponses := responses[f.from] && responses[f.to]
		if !ofRequests && !ofResponses {
			errs = append(errs, fmt.Errorf("conversion of %s to %s: hook %s must have two versions with these requests or responses", f.from, f.to, hook))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, f := range conversions {
		c.conversions[conversionKey{hook, f.from, f.to}] = f.convert
	}
	return nil
}

// ConvertRequest converts a request to another version of its hook. The result may share memory with in.
func (c *Catalog) ConvertRequest(in runtime.Object, from, to *Descriptor) (runtime.Object, error) {
	if err := from.CheckRequest(in); err != nil {
		return nil, err
	}
	out := to.NewRequest()
	if err := c.convert(in, out, "request", from, to, from.request, to.request); err != nil {
		return nil, err
	}
	return out, nil
}

// ConvertResponse converts the response in to another version of its hook, and stores the result in out.
func (c *Catalog) ConvertResponse(in, out runtime.Object, from, to *Descriptor) error {
	if err := errors.Join(from.CheckResponse(in), to.CheckResponse(out)); err != nil {
		return err
	}
	return c.convert(in, out, "response", from, to, from.response, to.response)
}

func (c *Catalog) convert(in, out runtime.Object, what string, from, to *Descriptor, inType, outType reflect.Type) error {
	if from.GroupHook() != to.GroupHook() {
		return fmt.Errorf("a %s of hook %s doesn't convert to a type of hook %s: both must be versions of one hook in one group", what, from, to)
	}
	convert := c.conversions[conversionKey{from.GroupHook(), inType, outType}]
	switch {
	case convert != nil:
		if err := convert(in, out); err != nil {
			return fmt.Errorf("converting a %s of hook %s to version %s: %w", what, from, to.Version, err)
		}
	case inType == outType:
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(in).Elem())
	default:
		return fmt.Errorf("the catalog has no conversion of a %s of hook %s to version %s (%s to %s): add the conversion by AddConversions", what, from, to.Version, inType, outType)
	}
	return nil
}
