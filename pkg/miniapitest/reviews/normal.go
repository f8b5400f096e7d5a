package reviews

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"sort"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/tree"
)

const (
	// normalTime replaces the times that a server sets.
	normalTime = "2000-01-01T00:00:00Z"
	// normalUID replaces a UUID. Its number is the number of the UUID, in the order in which UUIDs appear.
	normalUID = "00000000-0000-4000-8000-%012d"
	// normalIPv4, normalIPv6 and normalPort replace addresses and ports of Services. Their numbers are assigned in the
	// order in which the addresses and the ports appear.
	normalIPv4, normalIPv6, normalPort = "10.0.0.%d", "fd00::%x", "3%04d"
	// normalVersion replaces a resource version by its number in the order of appearance.
	normalVersion = "%d"
	// normalSuffix replaces the random end of a name.
	normalSuffix = "xxxxx"
)

// Normalise returns the exchange as it is written to a file. Two recordings of the same requests have equal files:
//   - UUIDs, resource versions, cluster IPs with their IPAddresses, and node ports are numbered in the order in which
//     they appear;
//   - the times of creation and deletion in metadata, and times in status and conditions, are replaced by a fixed time;
//   - metadata.managedFields and the id of the user's credential are left out;
//   - the random end of names that a server generates is replaced by a fixed text;
//   - the patch is decoded, and fields of the response that are null are left out.
func (e Exchange) Normalise() (Exchange, error) {
	request, response, err := e.trees()
	if err != nil {
		return Exchange{}, err
	}
	if err := decodePatch(response); err != nil {
		return Exchange{}, err
	}
	n := normaliser{met: map[string]map[string]string{}, names: map[string]string{}}
	n.collectNames(request)
	request = n.value(request, "", "")
	response = withoutNulls(n.value(response, "", ""))
	if e.Request, err = tree.Encode(request); err != nil {
		return Exchange{}, err
	}
	if response == nil {
		e.Response = nil
		return e, nil
	}
	e.Response, err = tree.Encode(response)
	return e, err
}

// decodePatch replaces the base64 of a response's patch by the patch.
func decodePatch(response any) error {
	answer, _ := tree.At(response, "response").(map[string]any)
	coded, ok := answer["patch"].(string)
	if !ok {
		return nil
	}
	plain, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		return fmt.Errorf("response.response.patch: must be in base64: %w", err)
	}
	if patch, err := tree.Decode(plain); err == nil {
		answer["patch"] = patch
	} else {
		answer["patch"] = string(plain) // if the patch isn't JSON, keep the text: a replay shows it
	}
	return nil
}

// withoutNulls removes the fields of an object that are null, because only some programs write them.
func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			if key == "patch" {
				continue // in the operations of a patch, null is a value
			}
			if field == nil {
				delete(v, key)
				continue
			}
			v[key] = withoutNulls(field)
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return value
}

// normaliser replaces the values that differ from run to run.
type normaliser struct {
	// met maps each replaced text to its replacement, for each format.
	met map[string]map[string]string
	// names maps the names that a server has generated to their replacements.
	names map[string]string
}

var (
	uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	// volume matches the name of the volume with a service account's token.
	volume = regexp.MustCompile(`^kube-api-access-[a-z0-9]{5}$`)
	moment = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)
)

// credential is the key of a user's extra field that has another value for each certificate and token.
const credential = "authentication.kubernetes.io/credential-id"

// collectNames finds the names that a server has generated: names from metadata.generateName, and names of IPAddresses,
// which are the cluster IPs of Services.
func (n *normaliser) collectNames(value any) {
	switch v := value.(type) {
	case map[string]any:
		name, prefix := tree.Text(v, "metadata", "name"), tree.Text(v, "metadata", "generateName")
		if prefix != "" && strings.HasPrefix(name, prefix) && name != prefix {
			n.names[name] = prefix + normalSuffix
		}
		if tree.Text(v, "kind") == "IPAddress" && net.ParseIP(name) != nil {
			n.names[name] = n.address(name)
		}
		for _, field := range v {
			n.collectNames(field)
		}
	case []any:
		for _, element := range v {
			n.collectNames(element)
		}
	}
}

// value returns the replacement of a value. The argument key is the key of the value in its object, and parent is the
// key of that object.
func (n *normaliser) value(value any, key, parent string) any {
	switch v := value.(type) {
	case map[string]any:
		if key == "metadata" {
			delete(v, "managedFields")
		}
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		inside := key
		if parent == "status" {
			inside = parent // fields at any depth below status count as fields of status
		}
		for _, k := range keys {
			v[k] = n.value(v[k], k, inside)
		}
		if extra, ok := v["extra"].(map[string]any); ok && key == "userInfo" {
			if delete(extra, credential); len(extra) == 0 {
				delete(v, "extra")
			}
		}
	case []any:
		for i := range v {
			v[i] = n.value(v[i], key, parent)
		}
	case json.Number:
		if (key == "nodePort" || key == "healthCheckNodePort") && v != "0" {
			return json.Number(n.numbered(v.String(), normalPort))
		}
	case string:
		return n.text(v, key, parent)
	}
	return value
}

func (n *normaliser) text(s, key, parent string) string {
	switch name, generated := n.names[s]; {
	case generated:
		return name
	case uuid.MatchString(s):
		return n.numbered(s, normalUID)
	case key == "resourceVersion" && s != "":
		return n.numbered(s, normalVersion)
	case key == "clusterIP" || key == "clusterIPs":
		return n.address(s)
	case volume.MatchString(s):
		return "kube-api-access-" + normalSuffix
	case isServerTime(key, parent) && moment.MatchString(s):
		return normalTime
	}
	return s
}

// isServerTime tells whether a field has a time that the server or a controller sets.
func isServerTime(key, parent string) bool {
	switch parent {
	case "metadata":
		return key == "creationTimestamp" || key == "deletionTimestamp"
	case "status", "conditions":
		return strings.HasSuffix(key, "Time") || strings.HasSuffix(key, "At")
	}
	return false
}

// address returns the text that replaces a cluster IP.
func (n *normaliser) address(s string) string {
	switch ip := net.ParseIP(s); {
	case ip == nil: // "None" or ""
		return s
	case ip.To4() == nil:
		return n.numbered(s, normalIPv6)
	}
	return n.numbered(s, normalIPv4)
}

// numbered returns the replacement of a text: the format with a number. A text that appears again gets the same number.
func (n *normaliser) numbered(s, format string) string {
	met := n.met[format]
	if met == nil {
		met = map[string]string{}
		n.met[format] = met
	}
	if met[s] == "" {
		met[s] = fmt.Sprintf(format, len(met)+1)
	}
	return met[s]
}
