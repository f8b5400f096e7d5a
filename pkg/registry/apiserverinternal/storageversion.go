package apiserverinternal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// storageVersionKind is the row of storageversions in the server's table of kinds.
var storageVersionKind = registry.Kind{
	Resource: "storageversions",
	Object:   &apiserverinternalv1alpha1.StorageVersion{}, List: &apiserverinternalv1alpha1.StorageVersionList{},
	Status:              true,
	StatusKeepsMetadata: true,
	ConditionalUpdate:   true,
	Printer:             &storageVersionColumns,
	Hooks: registry.HooksOf[*apiserverinternalv1alpha1.StorageVersion]{
		Validate: func(o *apiserverinternalv1alpha1.StorageVersion) field.ErrorList {
			return validation.Created(&o.ObjectMeta, validation.ClusterScoped, storageVersionName).Errs
		},
		ValidateStatusUpdate: func(o, _ *apiserverinternalv1alpha1.StorageVersion) field.ErrorList {
			return storageVersionStatus(&o.Status)
		},
	},
}

// storageVersionName checks that a name is GROUP.RESOURCE. The core group has the name "core" in it.
func storageVersionName(name string, _ bool) []string {
	i := strings.LastIndex(name, ".")
	if i < 0 {
		return []string{"name must be in the form of <group>.<resource>"}
	}
	return append(prefixed("the group segment ", utilvalidation.IsDNS1123Subdomain(name[:i])),
		prefixed("the resource segment ", utilvalidation.IsDNS1035Label(name[i+1:]))...)
}

// storageVersionStatus checks the versions that each server encodes, decodes and serves, the version that all servers
// encode, and the conditions (KEP-2339).
func storageVersionStatus(status *apiserverinternalv1alpha1.StorageVersionStatus) field.ErrorList {
	var f validation.Findings
	servers := map[string]bool{}
	for i, s := range status.StorageVersions {
		path := validation.StatusPath.Child("storageVersions").Index(i)
		f.AddIf(servers[s.APIServerID], field.Duplicate(path.Child("apiServerID"), s.APIServerID))
		servers[s.APIServerID] = true
		f.Merge(serverStorageVersion(path, &s))
	}
	f.Merge(commonEncodingVersion(status))
	types := map[apiserverinternalv1alpha1.StorageVersionConditionType]int{}
	for i, c := range status.Conditions {
		path := validation.StatusPath.Index(i) // as in kube-apiserver, without the name of the list
		first, again := types[c.Type]
		f.AddIf(again, field.Invalid(path.Child("type"), string(c.Type),
			fmt.Sprintf("the type of the condition is not unique, it also appears in conditions[%d]", first)))
		types[c.Type] = i
		f.Merge(validation.Follows(utilvalidation.IsQualifiedName, path.Child("type"), string(c.Type)),
			validation.Follows(utilvalidation.IsQualifiedName, path.Child("status"), string(c.Status)))
		f.AddIf(c.Reason == "", field.Required(path.Child("reason"), ""))
		f.AddIf(c.Message == "", field.Required(path.Child("message"), ""))
	}
	return f.Errs
}

func serverStorageVersion(path *field.Path, s *apiserverinternalv1alpha1.ServerStorageVersion) field.ErrorList {
	f := validation.Findings{Errs: validation.Follows(validation.Named(apivalidation.NameIsDNSSubdomain), path.Child("apiServerID"), s.APIServerID)}
	apiVersion := validation.Joined(isAPIVersion, ",")
	decodable := path.Child("decodableVersions")
	f.Merge(validation.Follows(apiVersion, path.Child("encodingVersion"), s.EncodingVersion))
	for i, v := range s.DecodableVersions {
		f.Merge(validation.Follows(apiVersion, decodable.Index(i), v))
	}
	f.AddIf(!slices.Contains(s.DecodableVersions, s.EncodingVersion),
		field.Invalid(decodable, s.DecodableVersions, "decodableVersions must include encodingVersion "+s.EncodingVersion))
	for i, v := range s.ServedVersions {
		path := path.Child("servedVersions").Index(i)
		f.Merge(validation.Follows(apiVersion, path, v))
		f.AddIf(!slices.Contains(s.DecodableVersions, v), field.Invalid(path, v,
			fmt.Sprintf("individual served version : %s must be included in decodableVersions : %s", v, s.DecodableVersions)))
	}
	return f.Errs
}

// commonEncodingVersion checks that the status has the version that all servers encode, if they encode the same.
func commonEncodingVersion(status *apiserverinternalv1alpha1.StorageVersionStatus) field.ErrorList {
	path, given := validation.StatusPath.Child("commonEncodingVersion"), status.CommonEncodingVersion
	var common *string
	for i := range status.StorageVersions {
		encoded := &status.StorageVersions[i].EncodingVersion
		if common != nil && *common != *encoded {
			common = nil
			break
		}
		common = encoded
	}
	switch {
	case ptr.Equal(common, given):
		return nil
	case common == nil:
		return field.ErrorList{field.Invalid(path, *given,
			"should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet")}
	case given == nil:
		return field.ErrorList{field.Invalid(path, given, "the common encoding version is "+*common)}
	}
	return field.ErrorList{field.Invalid(path, *given, "the actual common encoding version is "+*common)}
}

// isAPIVersion checks that a text is VERSION or GROUP/VERSION.
func isAPIVersion(text string) []string {
	group, version, grouped := strings.Cut(text, "/")
	var errs []string
	switch {
	case !grouped:
		version = text
	case strings.Contains(version, "/"):
		const message, form = "a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character", "[a-z]([-a-z0-9]*[a-z0-9])?"
		return []string{"an apiVersion is " + utilvalidation.RegexError(message, form, "my-name", "abc-123") +
			" with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')"}
	case group == "":
		errs = append(errs, "group part: "+utilvalidation.EmptyError())
	default:
		errs = prefixed("group part: ", utilvalidation.IsDNS1123Subdomain(group))
	}
	if version == "" {
		return append(errs, "version part: "+utilvalidation.EmptyError())
	}
	return append(errs, prefixed("version part: ", utilvalidation.IsDNS1035Label(version))...)
}

func prefixed(prefix string, messages []string) []string {
	for i := range messages {
		messages[i] = prefix + messages[i]
	}
	return messages
}

var storageVersionColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("CommonEncodingVersion", printers.Doc(apiserverinternalv1alpha1.StorageVersionStatus{}, "commonEncodingVersion")),
		printers.Text("StorageVersions", printers.Doc(apiserverinternalv1alpha1.StorageVersionStatus{}, "storageVersions")),
		printers.AgeColumn,
	},
	func(v *apiserverinternalv1alpha1.StorageVersion) []any {
		var servers []string
		for _, s := range v.Status.StorageVersions {
			servers = append(servers, s.APIServerID+"="+s.EncodingVersion)
		}
		return []any{v.Name, ptr.Deref(v.Status.CommonEncodingVersion, "<unset>"), cmp.Or(printers.First(3, servers, ","), "<unset>"), printers.Since(v.CreationTimestamp)}
	})
