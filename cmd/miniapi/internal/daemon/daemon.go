// Package daemon runs servers that outlive the command that has started them. A daemon is a process "miniapi host" with
// one server. It has a name, by which later commands find it: a file in the user's cache folder has the address and the
// token of the host. Don't use the package for servers of tests: a host ends with its test process.
package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/control"
	"github.com/miniapi-dev/miniapi/pkg/server/files"
)

const (
	// forever is the lease of a daemon. It is more than the life of a machine.
	forever = 10 * 365 * 24 * time.Hour
	// extension is that of the files of daemons.
	extension = ".json"
	// stopTimeout is the time within which a process ends, once its server has stopped.
	stopTimeout = 10 * time.Second
	// stopPeriod is the time between two questions whether the process has ended.
	stopPeriod = 10 * time.Millisecond
)

// Daemon is a running server with a name.
type Daemon struct {
	Name string `json:"name"`
	// Kubeconfig is the path of the admin's kubeconfig.
	Kubeconfig string    `json:"kubeconfig"`
	PID        int       `json:"pid"`
	Since      time.Time `json:"since"`

	client *control.Client
}

// record is the content of a daemon's file. Only the user can read it, because the token is in it.
type record struct {
	*Daemon
	Host control.Hello `json:"host"`
}

// Start starts a daemon. The files that the server's options name have paths from the current folder.
func Start(ctx context.Context, name, kubeconfig string, o control.Options) (_ *Daemon, _ *control.Server, err error) {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return nil, nil, fmt.Errorf("%q can't be the name of a daemon: %s", name, strings.Join(problems, "; "))
	}
	folder, err := folder()
	if err != nil {
		return nil, nil, err
	}
	if _, err := Find(ctx, name); err == nil {
		return nil, nil, fmt.Errorf("the daemon %s runs already: stop it by \"miniapi stop %s\", or give another name", name, name)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, err
	}
	d := &Daemon{Name: name, Kubeconfig: kubeconfig, Since: time.Now().Truncate(time.Second)}
	process, hello, err := d.launch()
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, process.Kill(), remove(name))
		}
	}()
	content, err := json.Marshal(record{d, hello})
	if err != nil {
		return nil, nil, err
	}
	if err := files.Create(filepath.Join(folder, name+extension), content, 0o600); err != nil {
		return nil, nil, err
	}
	server := &control.Server{}
	if err := d.client.Do(ctx, http.MethodPost, "/v1/servers", o, server); err != nil {
		return nil, nil, err
	}
	return d, server, process.Release()
}

// launch starts the process of the daemon, in no terminal, and reads its first line.
func (d *Daemon) launch() (_ *os.Process, hello control.Hello, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, hello, err
	}
	command := exec.Command(program, "host", "--lease", forever.String())
	command.SysProcAttr = detached
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, hello, err
	}
	if err := command.Start(); err != nil {
		return nil, hello, err
	}
	d.PID = command.Process.Pid
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &hello)
	}
	if err == nil {
		d.client, err = control.NewClient(hello)
	}
	if err != nil {
		return nil, hello, errors.Join(fmt.Errorf("the first line of %s: %w", command, err), command.Process.Kill())
	}
	return command.Process, hello, nil
}

// Find returns the daemon of a name. It removes the file of a daemon whose process has ended.
func Find(ctx context.Context, name string) (*Daemon, error) {
	folder, err := folder()
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(folder, name+extension))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no daemon %s: \"miniapi list\" lists the daemons", name)
	}
	if err != nil {
		return nil, err
	}
	d := &Daemon{}
	kept := record{Daemon: d}
	if err = json.Unmarshal(content, &kept); err == nil {
		d.client, err = control.NewClient(kept.Host)
	}
	if err != nil {
		return nil, fmt.Errorf("the file of daemon %s: %w", name, err)
	}
	if _, err := d.process(ctx); err != nil && ctx.Err() == nil {
		return nil, errors.Join(fmt.Errorf("the daemon %s has ended: %w", name, err), remove(name))
	}
	return d, ctx.Err()
}

// All returns the running daemons, in the order of their names.
func All(ctx context.Context) ([]*Daemon, error) {
	folder, err := folder()
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*"+extension))
	if err != nil {
		return nil, err
	}
	daemons := []*Daemon{}
	for _, path := range paths {
		if d, err := Find(ctx, strings.TrimSuffix(filepath.Base(path), extension)); err == nil {
			daemons = append(daemons, d)
		}
	}
	return daemons, nil
}

// Stop stops the server, and ends the process of the daemon.
func (d *Daemon) Stop(ctx context.Context) error {
	process, err := d.process(ctx)
	if err != nil {
		return err
	}
	server, err := d.server(ctx)
	if err == nil {
		err = d.client.Do(ctx, http.MethodDelete, server, nil, nil)
	}
	if process.Signal(syscall.SIGTERM) != nil {
		err = errors.Join(err, process.Kill()) // Windows has no SIGTERM
	}
	ended := wait.PollUntilContextTimeout(ctx, stopPeriod, stopTimeout, true, func(ctx context.Context) (bool, error) {
		_, err := d.process(ctx)
		return err != nil, nil
	})
	if ended != nil {
		err = errors.Join(err, fmt.Errorf("the process of daemon %s still runs: %w", d.Name, ended))
	}
	return errors.Join(err, remove(d.Name))
}

// Reset brings back the objects that the server had when it was ready.
func (d *Daemon) Reset(ctx context.Context) error { return d.post(ctx, "/reset", nil) }

// Snapshot copies all objects, and returns the identifier of the copy.
func (d *Daemon) Snapshot(ctx context.Context) (string, error) {
	snapshot := control.Snapshot{}
	err := d.post(ctx, "/snapshots", &snapshot)
	return snapshot.ID, err
}

// Restore brings back the objects of a snapshot.
func (d *Daemon) Restore(ctx context.Context, snapshot string) error {
	return d.post(ctx, "/snapshots/"+url.PathEscape(snapshot)+"/restore", nil)
}

func (d *Daemon) post(ctx context.Context, operation string, response any) error {
	server, err := d.server(ctx)
	if err != nil {
		return err
	}
	return d.client.Do(ctx, http.MethodPost, server+operation, nil, response)
}

// server returns the path of the server in the protocol.
func (d *Daemon) server(ctx context.Context) (string, error) {
	list := control.Servers{}
	if err := d.client.Do(ctx, http.MethodGet, "/v1/servers", nil, &list); err != nil {
		return "", err
	}
	if len(list.Servers) != 1 {
		return "", fmt.Errorf("the process of daemon %s must have one server, and has %d: stop it by \"miniapi stop %s\"", d.Name, len(list.Servers), d.Name)
	}
	return "/v1/servers/" + list.Servers[0].ID, nil
}

// process asks for the process of the daemon. Another process may have the number or the port of one that has ended, but
// none has its token.
func (d *Daemon) process(ctx context.Context) (*os.Process, error) {
	host := control.Host{}
	if err := d.client.Do(ctx, http.MethodGet, "/v1", nil, &host); err != nil {
		return nil, err
	}
	return os.FindProcess(host.PID)
}

// folder returns the folder with the files of the user's daemons.
func folder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("the folder of the daemons: %w", err)
	}
	return filepath.Join(cache, "miniapi", "daemons"), nil
}

func remove(name string) error {
	folder, err := folder()
	if err != nil {
		return err
	}
	err = os.Remove(filepath.Join(folder, name+extension))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
