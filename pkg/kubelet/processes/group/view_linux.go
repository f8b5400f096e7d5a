package group

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// serviceAccount is the path that views add most often. A machine doesn't have it.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// viewer starts commands with a View: in a mount namespace of their own, in which Init mounts the binds.
type viewer struct {
	init  []string
	flags uintptr
}

// findViewer returns a viewer that works. It needs a user namespace if this process may not mount.
func (g *Groups) findViewer() (viewer, error) {
	if len(g.Init) == 0 {
		return viewer{}, fmt.Errorf("views of the file system: %w", errors.New("this program has no command for them"))
	}
	var all error
	for _, flags := range []uintptr{unix.CLONE_NEWNS, unix.CLONE_NEWNS | unix.CLONE_NEWUSER} {
		v := viewer{g.Init, flags}
		err := v.try(filepath.Join(g.folder, "view"))
		if err == nil {
			return v, nil
		}
		all = errors.Join(all, err)
	}
	return viewer{}, fmt.Errorf("%w: %w", errNoViews, all)
}

// try mounts a folder at a path that this machine doesn't have.
func (v viewer) try(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	command := &exec.Cmd{SysProcAttr: attributes()}
	if err := v.wrap(command, &View{Folder: folder, Binds: []Bind{{From: folder, To: serviceAccount}}}); err != nil {
		return err
	}
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return nil
}

// place is where a command begins.
type place struct {
	View
	Dir string `json:"dir"`
}

// wrap makes a command that calls Init, and then becomes the former command.
func (v viewer) wrap(command *exec.Cmd, view *View) error {
	encoded, err := json.Marshal(place{*view, command.Dir})
	if err != nil {
		return err
	}
	args := append(slices.Clone(v.init), string(encoded))
	if command.Path != "" {
		args = append(append(args, command.Path), command.Args...)
	}
	command.Path, command.Args, command.Dir = v.init[0], args, ""
	command.SysProcAttr.Cloneflags = v.flags
	if v.flags&unix.CLONE_NEWUSER != 0 {
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		command.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT}
	}
	return nil
}

// report is the file descriptor of the pipe for errors that Init has if it is to become a command.
const report = 3

// Init mounts the binds of a View in the mount namespace of this process, which must be its own, and becomes the command.
// The arguments are the place in JSON, the path of a program, and the words of the command. Without a program, Init
// returns when the binds are mounted. With one, errors go to the process that has started this one.
func Init(args []string) error {
	if len(args) < 3 {
		return become(args)
	}
	unix.CloseOnExec(report)
	_, err := os.NewFile(report, "report").WriteString(become(args).Error())
	return err
}

// become does the work of Init. With a program, it returns only if it fails.
func become(args []string) error {
	runtime.LockOSThread() // capabilities belong to a thread
	if len(args) == 0 {
		return errors.New("the view is missing")
	}
	var at place
	if err := json.Unmarshal([]byte(args[0]), &at); err != nil {
		return fmt.Errorf("the view %q: %w", args[0], err)
	}
	m := mounter{View: at.View, ours: map[string]bool{}}
	if err := m.mount(); err != nil {
		return err
	}
	if len(args) < 3 {
		return nil
	}
	if err := unix.Chdir(cmp.Or(at.Dir, "/")); err != nil {
		return &fs.PathError{Op: "chdir", Path: at.Dir, Err: err}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up capabilities: %w", err)
	}
	return &fs.PathError{Op: "exec", Path: args[1], Err: syscall.Exec(args[1], args[2:], os.Environ())}
}

// mounter mounts the binds of a view.
type mounter struct {
	View
	// ours is true for binds and for shadows, and false for the entries of the machine in a shadow.
	ours map[string]bool
}

func (m *mounter) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separating the mounts from those of this machine: %w", err)
	}
	slices.SortStableFunc(m.Binds, func(a, b Bind) int { return len(a.To) - len(b.To) })
	for _, b := range m.Binds {
		if err := m.bind(b); err != nil {
			return fmt.Errorf("mounting %s at %s: %w", b.From, b.To, err)
		}
	}
	for _, b := range m.Binds { // now that other binds may lie in it
		if !b.ReadOnly {
			continue
		}
		if err := makeReadOnly(b.To); err != nil {
			return fmt.Errorf("making the mount at %s read-only: %w", b.To, err)
		}
	}
	return nil
}

func (m *mounter) bind(b Bind) error {
	info, err := os.Stat(b.From)
	if err != nil {
		return err
	}
	at, rest, err := existing(b.To)
	if err != nil {
		return err
	}
	if rest != "" {
		if err := m.shadow(at); err != nil {
			return err
		}
		if at = filepath.Join(at, rest); info.IsDir() {
			err = os.MkdirAll(at, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(at), 0o755); err == nil {
			err = touch(at)
		}
		if err != nil {
			return err
		}
	}
	m.ours[at] = true
	return bindMount(b.From, at)
}

// existing returns the part of a path that exists, without links, and the rest.
func existing(path string) (at, rest string, err error) {
	for {
		at, err = filepath.EvalSymlinks(path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return at, rest, err
		}
		rest = filepath.Join(filepath.Base(path), rest)
		path = filepath.Dir(path)
	}
}

// machine is the folder of a view in which the shadowed folders of the machine lie.
const machine = ".machine"

// shadow mounts a folder of the view over one of the machine, so that paths can be added there. The entries of the
// machine's folder are links in it. Those of the root folder are mounts, and so is the one that has the view.
func (m *mounter) shadow(dir string) error {
	if m.isOurs(dir) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	shadow, original := filepath.Join(m.Folder, dir), filepath.Join(m.Folder, machine, dir)
	if err := errors.Join(os.MkdirAll(shadow, 0o755), os.MkdirAll(original, 0o755)); err != nil {
		return err
	}
	if dir != "/" {
		if err := bindMount(dir, original); err != nil {
			return err
		}
	}
	for _, e := range entries {
		from, to := filepath.Join(dir, e.Name()), filepath.Join(shadow, e.Name())
		if dir == "/" || strings.HasPrefix(m.Folder, from+"/") {
			err = show(e, from, to)
		} else {
			err = link(e, from, filepath.Join(original, e.Name()), to)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		m.ours[from] = false
	}
	m.ours[dir] = true
	if dir != "/" {
		return bindMount(shadow, dir)
	}
	if err := unix.Chroot(shadow); err != nil {
		return &fs.PathError{Op: "chroot", Path: shadow, Err: err}
	}
	return unix.Chdir("/")
}

// isOurs reports whether paths can be added in a folder without a shadow.
func (m *mounter) isOurs(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		if ours, known := m.ours[dir]; known || dir == "/" {
			return ours
		}
	}
}

// link makes an entry of a folder of the machine visible in a shadow, by a link to the place at which the folder lies now.
func link(e fs.DirEntry, from, now, to string) error {
	if e.Type()&fs.ModeSymlink != 0 {
		var err error
		if now, err = os.Readlink(from); err != nil {
			return err
		}
	}
	if err := os.Symlink(now, to); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// show mounts an entry of a folder of the machine in a shadow.
func show(e fs.DirEntry, from, to string) error {
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		return link(e, from, "", to)
	case e.IsDir():
		if err := os.Mkdir(to, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	default:
		if err := touch(to); err != nil {
			return err
		}
	}
	return bindMount(from, to)
}

// touch creates a file to mount at, if it doesn't exist.
func touch(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// statRelatime is MS_RELATIME in the flags of statfs. The other flags have the same values there.
const statRelatime = 0x1000

// makeReadOnly makes a mount read-only. It keeps the other flags of the mount, which a user namespace may not change.
func makeReadOnly(at string) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(at, &stat); err != nil {
		return err
	}
	flags := uintptr(stat.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_NODIRATIME)
	if stat.Flags&statRelatime != 0 {
		flags |= unix.MS_RELATIME
	}
	return unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags, "")
}

func bindMount(from, to string) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s at %s: %w", from, to, err)
	}
	return nil
}
