package runner

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/source"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/testfile"
)

// placed returns an error with the path of the file, unless the error has a place already. If the error names an option of the
// server, the place is the line of the option.
func placed(file *testfile.File, err error) error {
	if at := (*testfile.Error)(nil); errors.As(err, &at) {
		return err
	}
	failed := &testfile.Error{File: file.Path, Err: err}
	if option := options.FindString(err.Error()); option != "" {
		failed.Line = file.Line(option)
	}
	return failed
}

// options matches the fields of a file with options of the server.
var options = regexp.MustCompile(`\bserver\.\w+|^load\b`)

// refused returns the error of objects that can't be installed, with the lines of the fields that the server refuses.
func refused(file *testfile.File, err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, one := range joined.Unwrap() {
			all = append(all, refused(file, one))
		}
		return errors.Join(all...)
	}
	failed := (*manifests.ObjectError)(nil)
	if !errors.As(err, &failed) {
		return file.Fail("installs", err)
	}
	object := failed.Object
	if strings.HasPrefix(object.Source, file.Path+":") { // an element of objects, whose source has the line
		return err
	}
	place := (&source.Files{}).Find(object.File, object.GetKind(), object.GetName())
	if place == nil {
		return file.Fail("installs", err)
	}
	line := place.Line(source.ParsePath(fieldOf(failed.Err)))
	return file.Fail("installs", fmt.Errorf("%s:%d: %s %s: %w", place.Path, line, object.GetKind(), object.GetName(), failed.Err))
}

// fieldOf returns the first field that a refusal of the server names, or "".
func fieldOf(err error) string {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			if cause.Field != "" {
				return cause.Field
			}
		}
	}
	return undeclared.FindString(err.Error())
}

// undeclared matches the field in the error of a server-side apply whose object has a field that its kind lacks, or a value of
// another type.
var undeclared = regexp.MustCompile(`\.(metadata|spec|webhooks)[^:\s]*`)
