//go:build !linux

package group

import "os/exec"

type viewer struct{}

func (*Groups) findViewer() (viewer, error) { return viewer{}, errNoViews }

func (viewer) wrap(*exec.Cmd, *View) error { return errNoViews }

// Init returns an error: only Linux has views.
func Init([]string) error { return errNoViews }
