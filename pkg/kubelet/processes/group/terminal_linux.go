package group

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openTerminal opens a terminal: the end of the user, and the end of the processes.
func openTerminal() (user, processes *os.File, err error) {
	if user, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	var number int
	err = control(user, func(fd int) (err error) {
		if number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN); err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	})
	if err == nil {
		processes, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, user.Close())
	}
	return user, processes, nil
}

// setSize sets the size of a terminal.
func setSize(terminal *os.File, s Size) error {
	return control(terminal, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: s.Height, Col: s.Width})
	})
}

// control calls f with the descriptor of a file. Unlike File.Fd, it leaves deadlines possible.
func control(file *os.File, f func(fd int) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) { failed = f(int(fd)) })
	return errors.Join(err, failed)
}

// controlTerminal makes the standard input of a command the terminal that controls its session.
func controlTerminal(attributes *syscall.SysProcAttr) {
	attributes.Setpgid, attributes.Setsid, attributes.Setctty = false, true, true // a session begins with a group
}
