package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sigs.k8s.io/yaml"
)

// newRelease makes a folder with a release, whose program is this test's binary.
func newRelease(t *testing.T, version string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	program := fmt.Sprintf("#!/bin/sh\n%s=1 exec %s \"$@\"\n", asProgram, filepath.Join(programs, "miniapi"))
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	files := tar.NewWriter(zip)
	if err := files.WriteHeader(&tar.Header{Name: "miniapi", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write([]byte(program)); err != nil {
		t.Fatal(err)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	archive := fmt.Sprintf("miniapi_%s_%s_%s.tar.gz", strings.TrimPrefix(version, "v"), runtime.GOOS, runtime.GOARCH)
	for path, content := range map[string][]byte{
		"latest":                   []byte(version + "\n"),
		version + "/" + archive:    packed.Bytes(),
		version + "/checksums.txt": fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(packed.Bytes()), archive),
		"v0.0.1/checksums.txt":     fmt.Appendf(nil, "%064d  miniapi_0.0.1_%s_%s.tar.gz\n", 0, runtime.GOOS, runtime.GOARCH),
		"v0.0.1/" + strings.Replace(archive, strings.TrimPrefix(version, "v"), "0.0.1", 1): packed.Bytes(),
		"v0.0.2/checksums.txt": nil,
	} {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// install runs install.sh with options, and returns its output.
func install(t *testing.T, folder string, options ...string) (string, error) {
	t.Helper()
	script, err := filepath.Abs("../../devcontainer/src/miniapi/install.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", script)
	cmd.Env = append(append(os.Environ(), "MINIAPI_INSTALL_DIR="+folder), options...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The script installs the program of a release, from a folder and from a mirror.
func TestInstall(t *testing.T) {
	t.Parallel()
	releases := newRelease(t, "v1.2.3")
	mirror := httptest.NewServer(http.FileServer(http.Dir(releases)))
	t.Cleanup(mirror.Close)
	for _, test := range []struct {
		name, reason string
		options      []string
	}{
		{"folder", "a container without a network has the releases in a folder", []string{"MINIAPI_RELEASES=" + releases, "MINIAPI_VERSION=v1.2.3"}},
		{"one release", "the folder is what a build of a release makes", []string{"MINIAPI_RELEASES=" + filepath.Join(releases, "v1.2.3")}},
		{"newest", "a newcomer names no version, and VERSION is another program's", []string{"MINIAPI_RELEASES=" + releases, "VERSION=v9.9.9"}},
		{"feature", "a dev container gives the option of its feature", []string{"MINIAPI_RELEASES=" + releases, "_REMOTE_USER=vscode", "VERSION=v1.2.3"}},
		{"mirror", "a company has a mirror", []string{"MINIAPI_RELEASES=" + mirror.URL, "MINIAPI_VERSION=v1.2.3"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "bin")
			out, err := install(t, folder, test.options...)
			if err != nil || !strings.Contains(out, "installed miniapi v1.2.3 as "+folder) {
				t.Fatalf("because %s, want an installation, got %v: %s", test.reason, err, out)
			}
			if out, err := exec.CommandContext(t.Context(), filepath.Join(folder, "miniapi"), "version").CombinedOutput(); err != nil || !strings.Contains(string(out), "miniapi") {
				t.Errorf("want the version, got %v: %s", err, out)
			}
		})
	}
}

// A failed installation names what is wrong, and leaves the program that was there.
func TestInstallErrors(t *testing.T) {
	t.Parallel()
	releases := newRelease(t, "v1.2.3")
	for _, test := range []struct{ name, reason, version, releases, want string }{
		{"sum", "the archive was changed", "v0.0.1", releases, "the archive isn't the released one"},
		{"no line", "the version has no archive for this system", "v0.0.2", releases, "checksums.txt has no line for miniapi_0.0.2_"},
		{"version", "there is no such version", "v9.9.9", releases, `check MINIAPI_VERSION ("v9.9.9")`},
		{"place", "the place is neither a URL nor a path", "v1.2.3", "releases", `MINIAPI_RELEASES is "releases"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			program := filepath.Join(folder, "miniapi")
			if err := os.WriteFile(program, []byte("earlier"), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := install(t, folder, "MINIAPI_RELEASES="+test.releases, "MINIAPI_VERSION="+test.version)
			if err == nil || !strings.Contains(out, test.want) {
				t.Errorf("because %s, want %q, got %v: %s", test.reason, test.want, err, out)
			}
			if content, err := os.ReadFile(program); err != nil || string(content) != "earlier" {
				t.Errorf("want the earlier program, got %q, error %v", content, err)
			}
			if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
				t.Errorf("want no other file, got %v, error %v", files, err)
			}
		})
	}
}

// The steps of the GitHub Action install a release, and serve it to the steps that follow.
func TestAction(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Runs struct {
			Steps []struct {
				Run string            `json:"run"`
				Env map[string]string `json:"env"`
			} `json:"steps"`
		} `json:"runs"`
	}
	if err := yaml.Unmarshal(content, &action); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	job := t.TempDir()
	expressions := strings.NewReplacer(
		"${{ inputs.version }}", "v1.2.3", "${{ inputs.releases }}", newRelease(t, "v1.2.3"),
		"${{ inputs.args }}", "--controllers= --max-requests-inflight=10", "${{ runner.temp }}", job, "${{ github.action_path }}", root,
	)
	for _, step := range action.Runs.Steps {
		cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
		cmd.Env = os.Environ()
		for name, value := range step.Env {
			cmd.Env = append(cmd.Env, name+"="+expressions.Replace(value))
		}
		for _, file := range []string{"GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT"} {
			cmd.Env = append(cmd.Env, file+"="+filepath.Join(job, file))
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	pid, err := strconv.Atoi(setBy(t, filepath.Join(job, "GITHUB_OUTPUT"), "pid"))
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Signal(syscall.SIGTERM) })
	if version, err := clientOf(t, setBy(t, filepath.Join(job, "GITHUB_ENV"), "KUBECONFIG")).Discovery().ServerVersion(); err != nil || version.Major != "1" {
		t.Errorf("want the server's version with the kubeconfig of the job, got %v, error %v", version, err)
	}
}

// setBy returns the value that the steps have set in a file.
func setBy(t *testing.T, file, name string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(content), "\n") {
		if value, found := strings.CutPrefix(line, name+"="); found {
			return value
		}
	}
	t.Fatalf("want %s in %s, got %s", name, file, content)
	return ""
}
