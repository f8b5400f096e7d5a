package processes

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/environment"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/group"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/podfiles"
)

// accountMount is the path at which containers have the token of their service account.
const accountMount = "/var/run/secrets/kubernetes.io/serviceaccount"

// root is the folder of the container, in which its processes start.
func (c *container) root() string { return filepath.Join(c.folder, "root") }

// view returns how the container sees its volumes. Its folder has them at their mount paths, too, for systems on which a
// process can't see them there.
func (c *container) view(variables map[string]string) (group.View, error) {
	view := group.View{Folder: c.root()}
	if err := os.MkdirAll(filepath.Join(view.Folder, "tmp"), 0o700); err != nil {
		return view, err
	}
	for _, m := range c.spec.VolumeMounts {
		from, err := c.source(m, variables)
		if err != nil {
			return view, err
		}
		view.Binds = append(view.Binds, group.Bind{From: from, To: m.MountPath, ReadOnly: m.ReadOnly || podfiles.ReadOnly(c.pod.start, m.Name)})
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

// source returns the path of this machine that a volume mount stands for. It makes a folder if there is nothing.
func (c *container) source(m corev1.VolumeMount, variables map[string]string) (string, error) {
	below := m.SubPath
	if m.SubPathExpr != "" {
		var err error
		if below, err = environment.ExpandPath(m.SubPathExpr, variables); err != nil {
			return "", err
		}
	}
	switch {
	case filepath.IsAbs(below):
		return "", fmt.Errorf("error SubPath `%s` must not be an absolute path", below)
	case slices.Contains(strings.Split(filepath.ToSlash(below), "/"), ".."):
		return "", fmt.Errorf("unable to provision SubPath `%s`: must not contain '..'", below)
	}
	from := filepath.Join(c.pod.volumes.Path(c.pod.start, m.Name), filepath.FromSlash(below))
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return from, os.MkdirAll(from, 0o700)
	}
	return from, nil
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

// given returns the variables that a container has without asking for them. Those of the Service kubernetes have the address
// of the server, which processes reach.
func (c *container) given(pod *corev1.Pod) (map[string]string, error) {
	host, port, err := net.SplitHostPort(c.pod.runtime.host.Address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return nil, err
	}
	variables := map[string]string{"PATH": os.Getenv("PATH"), "HOSTNAME": hostname(pod), "HOME": c.root()}
	server := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}}
	server.Spec.ClusterIP, server.Spec.Ports = host, []corev1.ServicePort{{Name: "https", Port: int32(number)}}
	maps.Copy(variables, environment.OfService(server))
	if !ptr.Deref(pod.Spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks) {
		return variables, nil
	}
	services, err := c.pod.runtime.services.Services(pod.Namespace).List(labels.Everything())
	for _, service := range services {
		if service.Namespace != server.Namespace || service.Name != server.Name {
			maps.Copy(variables, environment.OfService(service))
		}
	}
	return variables, err
}

// replaceMounts adds variables in place of the mount paths that a process doesn't see, unless the container has them.
func (c *container) replaceMounts(view group.View, variables map[string]string) error {
	temporary := filepath.Join(view.Folder, "tmp")
	given := map[string]string{"TMPDIR": temporary, "TMP": temporary, "TEMP": temporary}
	if account, ok := view.Resolve(accountMount); ok {
		given["KUBECONFIG"] = filepath.Join(c.folder, "kubeconfig")
		if err := writeKubeconfig(given["KUBECONFIG"], account, c.pod.runtime.host.Address, c.pod.name.Namespace); err != nil {
			return err
		}
	}
	maps.Copy(given, variables)
	maps.Copy(variables, given)
	return nil
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
