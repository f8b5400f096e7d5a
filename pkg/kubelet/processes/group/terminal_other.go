//go:build !linux

package group

import (
	"errors"
	"os"
	"syscall"
)

var errNoTerminals = errors.New("terminals for commands: need Linux")

func openTerminal() (user, processes *os.File, err error) { return nil, nil, errNoTerminals }

func setSize(*os.File, Size) error { return errNoTerminals }

func controlTerminal(*syscall.SysProcAttr) {}
