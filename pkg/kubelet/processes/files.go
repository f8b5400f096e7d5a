package processes

import (
	"errors"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/group"
)

// accountMount is the path at which containers have the token of their service account.
const accountMount = "/var/run/secrets/kubernetes.io/serviceaccount"

// view returns how the container sees its volumes. Its folder has them at their mount paths, too, for systems on which a
// process can't see them there.
func (c *container) view() (group.View, error) {
	view := group.View{Folder: filepath.Join(c.folder, "root")}
	if err := os.MkdirAll(filepath.Join(view.Folder, "tmp"), 0o700); err != nil {
		return view, err
	}
	for _, m := range c.spec.VolumeMounts {
		from := filepath.Join(c.pod.volumes.Path(m.Name), filepath.FromSlash(m.SubPath))
		if !filepath.IsLocal(filepath.Join(".", filepath.FromSlash(m.SubPath))) {
			return view, &fs.PathError{Op: "mount", Path: m.SubPath, Err: fs.ErrInvalid}
		}
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			if err := os.MkdirAll(from, 0o700); err != nil {
				return view, err
			}
		}
		view.Binds = append(view.Binds, group.Bind{From: from, To: m.MountPath})
	}
	if path := c.spec.TerminationMessagePath; path != "" {
		view.Binds = append(view.Binds, group.Bind{From: c.messagePath(), To: path})
	}
	slices.SortStableFunc(view.Binds, func(a, b group.Bind) int { return len(a.To) - len(b.To) })
	if c.pod.runtime.groups.HasViews() == nil {
		return view, nil
	}
	for _, b := range view.Binds {
		if err := link(b.From, filepath.Join(view.Folder, filepath.FromSlash(b.To))); err != nil {
			return view, err
		}
	}
	return view, nil
}

// link makes a path a link to a folder or file, unless it exists.
func link(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := os.Symlink(from, to); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// relocate replaces the mount paths in an argument, or in the value of a variable, by the paths of this machine. A mount
// path begins the text, or follows one of = : , ; a quote and white space.
func relocate(text string, view group.View) string {
	for _, b := range slices.Backward(view.Binds) { // the longest first
		pattern := regexp.MustCompile(`(^|[=:,;\s"'])` + regexp.QuoteMeta(strings.TrimSuffix(b.To, "/")) + `($|[/=:,;\s"'])`)
		text = pattern.ReplaceAllStringFunc(text, func(found string) string {
			at := strings.Index(found, b.To)
			return found[:at] + b.From + found[at+len(b.To):]
		})
	}
	return text
}

// given returns the variables that a container has without asking for them.
func (c *container) given(view group.View, views bool) (map[string]string, error) {
	server := c.pod.runtime.host.Address
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		return nil, err
	}
	variables := map[string]string{
		"PATH": os.Getenv("PATH"), "HOSTNAME": hostname(c.pod.start), "HOME": view.Folder,
		"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, "KUBERNETES_SERVICE_PORT_HTTPS": port,
	}
	if views {
		return variables, nil
	}
	temporary := filepath.Join(view.Folder, "tmp")
	maps.Copy(variables, map[string]string{"TMPDIR": temporary, "TMP": temporary, "TEMP": temporary})
	if account, ok := view.Resolve(accountMount); ok {
		path := filepath.Join(c.folder, "kubeconfig")
		variables["KUBECONFIG"] = path
		return variables, writeKubeconfig(path, account, server, c.pod.name.Namespace)
	}
	return variables, nil
}

func hostname(pod *corev1.Pod) string {
	if pod.Spec.Hostname != "" {
		return pod.Spec.Hostname
	}
	return pod.Name
}

// writeKubeconfig writes a kubeconfig of the service account whose files are in a folder.
func writeKubeconfig(path, account, address, namespace string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["miniapi"] = &clientcmdapi.Cluster{Server: "https://" + address, CertificateAuthority: filepath.Join(account, "ca.crt")}
	config.AuthInfos["serviceaccount"] = &clientcmdapi.AuthInfo{TokenFile: filepath.Join(account, "token")}
	config.Contexts["miniapi"] = &clientcmdapi.Context{Cluster: "miniapi", AuthInfo: "serviceaccount", Namespace: namespace}
	config.CurrentContext = "miniapi"
	return clientcmd.WriteToFile(*config, path)
}
