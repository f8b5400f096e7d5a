package podvalidation

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

func containerSecurity(path *field.Path, sc *corev1.SecurityContext, hostUsers bool) field.ErrorList {
	if sc == nil {
		return nil
	}
	var f validation.Findings
	f.Merge(
		UserID(path.Child("runAsUser"), sc.RunAsUser),
		GroupID(path.Child("runAsGroup"), sc.RunAsGroup),
		validation.OptionalOneOf(path.Child("procMount"), sc.ProcMount, corev1.DefaultProcMount, corev1.UnmaskedProcMount))
	f.AddIf(hostUsers && ptr.Deref(sc.ProcMount, "") == corev1.UnmaskedProcMount,
		field.Invalid(path.Child("procMount"), sc.ProcMount, "`hostUsers` must be false to use `Unmasked`"))
	f.Merge(seccompProfile(path.Child("seccompProfile"), sc.SeccompProfile))
	if !ptr.Deref(sc.AllowPrivilegeEscalation, true) {
		f.AddIf(ptr.Deref(sc.Privileged, false), field.Invalid(path, validation.Unversioned(sc),
			"cannot set `allowPrivilegeEscalation` to false and `privileged` to true"))
		if sc.Capabilities != nil {
			for _, c := range sc.Capabilities.Add {
				f.AddIf(c == "CAP_SYS_ADMIN", field.Invalid(path, validation.Unversioned(sc),
					"cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"))
			}
		}
	}
	f.Merge(
		windowsOptions(path.Child("windowsOptions"), sc.WindowsOptions),
		appArmorProfile(path.Child("appArmorProfile"), sc.AppArmorProfile))
	return f.Errs
}

// UserID checks a user ID. A nil ID is valid.
func UserID(path *field.Path, id *int64) field.ErrorList {
	return checkID(path, id, utilvalidation.IsValidUserID)
}

// GroupID checks a group ID. A nil ID is valid.
func GroupID(path *field.Path, id *int64) field.ErrorList {
	return checkID(path, id, utilvalidation.IsValidGroupID)
}

func checkID(path *field.Path, id *int64, valid func(int64) []string) field.ErrorList {
	var f validation.Findings
	if id != nil {
		for _, msg := range valid(*id) {
			f.Add(field.Invalid(path, *id, msg))
		}
	}
	return f.Errs
}

// seccompProfile checks a seccomp profile (KEP-135).
func seccompProfile(path *field.Path, p *corev1.SeccompProfile) field.ErrorList {
	if p == nil {
		return nil
	}
	var f validation.Findings
	local := path.Child("localhostProfile")
	if p.Type == "" {
		f.Add(field.Required(path.Child("type"), "type is required when seccompProfile is set"))
	} else {
		f.Merge(validation.OneOf(path.Child("type"), p.Type, corev1.SeccompProfileTypeLocalhost,
			corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined))
	}
	switch isLocal := p.Type == corev1.SeccompProfileTypeLocalhost; {
	case isLocal && p.LocalhostProfile == nil:
		f.Add(field.Required(local, "must be set when seccomp type is Localhost"))
	case isLocal:
		f.Merge(descendingPath(local, *p.LocalhostProfile))
	case p.LocalhostProfile != nil:
		f.Add(field.Invalid(local, validation.Unversioned(p), "can only be set when seccomp type is Localhost"))
	}
	return f.Errs
}

// MaxAppArmorProfile bounds the length of the name of an AppArmor profile. It is PATH_MAX - 1.
const MaxAppArmorProfile = 4095

// appArmorProfile checks an AppArmor profile (KEP-24).
func appArmorProfile(path *field.Path, p *corev1.AppArmorProfile) field.ErrorList {
	if p == nil {
		return nil
	}
	var f validation.Findings
	local := path.Child("localhostProfile")
	const needed = "must be set when AppArmor type is Localhost"
	switch p.Type {
	case corev1.AppArmorProfileTypeLocalhost:
		if p.LocalhostProfile == nil {
			f.Add(field.Required(local, needed))
			break
		}
		name := *p.LocalhostProfile
		if strings.TrimSpace(name) != name {
			f.Add(field.Invalid(local, name, "must not be padded with whitespace"))
		} else if name == "" {
			f.Add(field.Required(local, needed))
		}
		f.AddIf(len(name) > MaxAppArmorProfile, field.TooLong(local, "", MaxAppArmorProfile))
	case corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined:
		f.AddIf(p.LocalhostProfile != nil, field.Invalid(local, p.LocalhostProfile, "can only be set when AppArmor type is Localhost"))
	case "":
		f.Add(field.Required(path.Child("type"), "type is required when appArmorProfile is set"))
	default:
		f.Merge(validation.OneOf(path.Child("type"), p.Type, corev1.AppArmorProfileTypeLocalhost,
			corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined))
	}
	return f.Errs
}

const (
	maxGMSACredentialSpecKiB = 64
	maxWindowsDomain         = 256
	maxWindowsUser           = 104
)

// The rules of Windows for the names of domains and users.
var (
	windowsControl     = regexp.MustCompile(`[[:cntrl:]]`)
	netBIOSDomain      = regexp.MustCompile(`^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$`)
	dnsDomain          = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`)
	dotsAndSpaces      = regexp.MustCompile(`^[. ]+$`)
	noUserNameOfThese  = `"/\:;|=,+*?<>@[]`
	credentialTooLarge = fmt.Sprintf("gmsaCredentialSpec size must be under %d KiB", maxGMSACredentialSpecKiB)
)

func windowsOptions(path *field.Path, o *corev1.WindowsSecurityContextOptions) field.ErrorList {
	if o == nil {
		return nil
	}
	var f validation.Findings
	if name := o.GMSACredentialSpecName; name != nil {
		f.Merge(validation.Follows(utilvalidation.IsDNS1123Subdomain, path.Child("gmsaCredentialSpecName"), *name))
	}
	if spec := o.GMSACredentialSpec; spec != nil {
		path := path.Child("gmsaCredentialSpec")
		f.AddIf(*spec == "", field.Invalid(path, spec, "gmsaCredentialSpec cannot be an empty string"))
		f.AddIf(len(*spec) > maxGMSACredentialSpecKiB*1024, field.Invalid(path, spec, credentialTooLarge))
	}
	if user := o.RunAsUserName; user != nil {
		f.Merge(validation.Follows(windowsUser, path.Child("runAsUserName"), *user))
	}
	return f.Errs
}

// windowsUser is the rule for user names of Windows, such as DOMAIN\user.
func windowsUser(name string) []string {
	parts := strings.Split(name, `\`)
	switch {
	case name == "":
		return []string{"runAsUserName cannot be an empty string"}
	case windowsControl.MatchString(name):
		return []string{"runAsUserName cannot contain control characters"}
	case len(parts) > 2:
		return []string{"runAsUserName cannot contain more than one backslash"}
	}
	var msgs []string
	user := parts[len(parts)-1]
	if len(parts) == 2 {
		if len(parts[0]) >= maxWindowsDomain {
			msgs = append(msgs, fmt.Sprintf("runAsUserName's Domain length must be under %d characters", maxWindowsDomain))
		}
		if !netBIOSDomain.MatchString(parts[0]) && !dnsDomain.MatchString(parts[0]) {
			msgs = append(msgs, "runAsUserName's Domain doesn't match the NetBios nor the DNS format")
		}
	}
	if user == "" {
		msgs = append(msgs, "runAsUserName's User cannot be empty")
	} else if len(user) > maxWindowsUser {
		msgs = append(msgs, fmt.Sprintf("runAsUserName's User length must not be longer than %d characters", maxWindowsUser))
	}
	if dotsAndSpaces.MatchString(user) {
		msgs = append(msgs, "runAsUserName's User cannot contain only periods or spaces")
	}
	if strings.ContainsAny(user, noUserNameOfThese) {
		msgs = append(msgs, "runAsUserName's User cannot contain the following characters: "+noUserNameOfThese)
	}
	return msgs
}
