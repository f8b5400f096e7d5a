package podvalidation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

const onlyOneSource = "may not have more than one field specified at a time"

func envVars(path *field.Path, vars []corev1.EnvVar) field.ErrorList {
	var f validation.Findings
	for i, v := range vars {
		path := path.Index(i)
		f.Merge(validation.Required(utilvalidation.IsRelaxedEnvVarName, path.Child("name"), v.Name))
		if v.ValueFrom != nil {
			f.Merge(envSource(path.Child("valueFrom"), v.ValueFrom, v.Value))
		}
	}
	return f.Errs
}

func envSource(path *field.Path, s *corev1.EnvVarSource, value string) field.ErrorList {
	var f validation.Findings
	n := 0
	source := func(errs field.ErrorList) { n++; f.Merge(errs) }
	if r := s.FieldRef; r != nil {
		source(fieldRef(path.Child("fieldRef"), r, envFields))
	}
	if r := s.ResourceFieldRef; r != nil {
		source(resourceFieldRef(path.Child("resourceFieldRef"), r, false))
	}
	if r := s.ConfigMapKeyRef; r != nil {
		source(keyRef(path.Child("configMapKeyRef"), r.Name, r.Key))
	}
	if r := s.SecretKeyRef; r != nil {
		source(keyRef(path.Child("secretKeyRef"), r.Name, r.Key))
	}
	if r := s.FileKeyRef; r != nil {
		source(fileKeyRef(path.Child("fileKeyRef"), r))
	}
	switch {
	case n == 0:
		f.Add(field.Invalid(path, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"))
	case value != "":
		f.Add(field.Invalid(path, "", "may not be specified when `value` is not empty"))
	case n > 1:
		f.Add(field.Invalid(path, "", onlyOneSource))
	}
	return f.Errs
}

func envFrom(path *field.Path, sources []corev1.EnvFromSource) field.ErrorList {
	// As in kube-apiserver, a name may end with a dash here, because the rule is the one for prefixes of names.
	prefix := func(s string) []string { return apivalidation.NameIsDNSSubdomain(s, true) }
	var f validation.Findings
	for i, s := range sources {
		idx := path.Index(i)
		if s.Prefix != "" {
			f.Merge(validation.Follows(utilvalidation.IsRelaxedEnvVarName, idx.Child("prefix"), s.Prefix))
		}
		if s.ConfigMapRef != nil {
			f.Merge(validation.Required(prefix, idx.Child("configMapRef", "name"), s.ConfigMapRef.Name))
		}
		if s.SecretRef != nil {
			f.Merge(validation.Required(prefix, idx.Child("secretRef", "name"), s.SecretRef.Name))
		}
		f.AddIf(s.ConfigMapRef == nil && s.SecretRef == nil, field.Invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
		f.AddIf(s.ConfigMapRef != nil && s.SecretRef != nil, field.Invalid(path, "", onlyOneSource))
	}
	return f.Errs
}

func keyRef(path *field.Path, name, key string) field.ErrorList {
	return append(validation.Follows(validation.ObjectName, path.Child("name"), name),
		validation.Required(utilvalidation.IsConfigMapKey, path.Child("key"), key)...)
}

// fileKeyRef checks an environment variable that comes from a file, which an init container writes (KEP-3721).
func fileKeyRef(path *field.Path, r *corev1.FileKeySelector) field.ErrorList {
	var f validation.Findings
	f.Merge(
		validation.Required(utilvalidation.IsRelaxedEnvVarName, path.Child("key"), r.Key),
		validation.Required(utilvalidation.IsDNS1123Label, path.Child("volumeName"), r.VolumeName),
		validation.Required(noBacksteps, path.Child("path"), r.Path))
	return f.Errs
}

// fileKeyVolumes checks the volumes with files for environment variables. Each must be an emptyDir, because an init
// container writes the files.
func fileKeyVolumes(path *field.Path, spec *corev1.PodSpec) field.ErrorList {
	volumes := map[string]bool{}
	for i := range spec.Volumes {
		volumes[spec.Volumes[i].Name] = spec.Volumes[i].EmptyDir != nil
	}
	var f validation.Findings
	for path, c := range podspec.Containers(spec, path) {
		for i, v := range c.Env {
			if v.ValueFrom == nil || v.ValueFrom.FileKeyRef == nil {
				continue
			}
			path, name := path.Child("env").Index(i).Child("valueFrom", "fileKeyRef", "volumeName"), v.ValueFrom.FileKeyRef.VolumeName
			if emptyDir, found := volumes[name]; !found {
				f.Add(field.NotFound(path, name))
			} else if !emptyDir {
				f.Add(field.Invalid(path, name, "referenced volume must be of type emptyDir"))
			}
		}
	}
	return f.Errs
}

var (
	metadataFields = sets.New("metadata.name", "metadata.namespace", "metadata.uid")
	// envFields are the pod fields to which an environment variable can refer.
	envFields = metadataFields.Union(sets.New("spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"))
	// volumeFields are the pod fields to which a file in a volume can refer.
	volumeFields = metadataFields.Union(sets.New("metadata.labels", "metadata.annotations"))
	// podFields are all pod fields that a fieldPath without a key can name.
	podFields = envFields.Union(volumeFields).Union(sets.New("spec.restartPolicy", "spec.schedulerName", "status.phase"))
)

// fieldRef checks a reference to a field of the pod, or to one of its labels or annotations.
func fieldRef(path *field.Path, r *corev1.ObjectFieldSelector, allowed sets.Set[string]) field.ErrorList {
	switch {
	case r.APIVersion == "":
		return field.ErrorList{field.Required(path.Child("apiVersion"), "")}
	case r.FieldPath == "":
		return field.ErrorList{field.Required(path.Child("fieldPath"), "")}
	}
	name, key, hasKey := splitFieldPath(r.FieldPath)
	if err := knownPodField(r.APIVersion, r.FieldPath, name, hasKey); err != nil {
		return field.ErrorList{field.Invalid(path.Child("fieldPath"), r.FieldPath, fmt.Sprintf("error converting fieldPath: %v", err))}
	}
	switch {
	case name == "metadata.annotations" && hasKey:
		return validation.Qualified(path, strings.ToLower(key))
	case hasKey:
		return validation.Qualified(path, key)
	case name == "spec.host": // old clients use this name for spec.nodeName
		name = "spec.nodeName"
	}
	if !allowed.Has(name) {
		return field.ErrorList{field.NotSupported(path.Child("fieldPath"), name, sets.List(allowed))}
	}
	return nil
}

func knownPodField(apiVersion, whole, name string, hasKey bool) error {
	switch {
	case apiVersion != "v1":
		return fmt.Errorf("unsupported pod version: %s", apiVersion)
	case hasKey && name != "metadata.annotations" && name != "metadata.labels":
		return fmt.Errorf("field label does not support subscript: %s", whole)
	case !hasKey && name != "spec.host" && !podFields.Has(name):
		return fmt.Errorf("field label not supported: %s", name)
	}
	return nil
}

// splitFieldPath splits a path with a key, such as metadata.labels['key'], into the path and the key.
func splitFieldPath(path string) (name, key string, hasKey bool) {
	inner, closed := strings.CutSuffix(path, "']")
	name, key, hasKey = strings.Cut(inner, "['")
	if !closed || !hasKey || name == "" {
		return path, "", false
	}
	return name, key, true
}

var (
	binaryDivisors = sets.New("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
	cpuDivisors    = sets.New("1m", "1")
)

const sizes = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"

// downwardResources are the container resources to which environment variables and files can refer, as a request or
// as a limit.
var downwardResources = []struct {
	// described is the name in error messages.
	name, described string
	// divisors are the allowed units, and listed is the list of them in error messages.
	divisors sets.Set[string]
	listed   string
}{
	{"cpu", "cpu", cpuDivisors, "1m and 1"},
	{"memory", "memory", binaryDivisors, sizes},
	{"ephemeral-storage", "local ephemeral storage", binaryDivisors, sizes},
	{"hugepages-", "hugepages", binaryDivisors, sizes},
}

func resourceFieldRef(path *field.Path, r *corev1.ResourceFieldSelector, inVolume bool) field.ErrorList {
	var f validation.Findings
	var exact []string
	known := false
	for _, of := range []string{"limits.", "requests."} {
		for _, res := range downwardResources {
			if res.name == "hugepages-" {
				known = known || strings.HasPrefix(r.Resource, of+res.name)
				continue
			}
			known = known || r.Resource == of+res.name
			exact = append(exact, of+res.name)
		}
	}
	switch {
	case inVolume && r.ContainerName == "":
		f.Add(field.Required(path.Child("containerName"), ""))
	case r.Resource == "":
		f.Add(field.Required(path.Child("resource"), ""))
	case !known:
		f.Add(field.NotSupported(path.Child("resource"), r.Resource, sets.List(sets.New(exact...))))
	}
	f.Merge(divisor(path.Child("divisor"), r.Resource, r.Divisor))
	return f.Errs
}

func divisor(path *field.Path, name string, d resource.Quantity) field.ErrorList {
	if d.IsZero() {
		return nil
	}
	_, res, _ := strings.Cut(name, ".")
	for _, known := range downwardResources {
		matches := res == known.name || known.name == "hugepages-" && strings.HasPrefix(res, known.name)
		if matches && !known.divisors.Has(d.String()) {
			msg := fmt.Sprintf("only divisor's values %s are supported with the %s resource", known.listed, known.described)
			return field.ErrorList{field.Invalid(path, name, msg)}
		}
	}
	return nil
}
