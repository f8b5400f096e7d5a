package group

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// guard ends nothing: Windows closes the job objects of a process that ends, which ends the processes in them.
type guard struct{}

func newGuard(string) (*guard, error) { return &guard{}, nil }

func (*guard) close() error { return nil }

func (*guard) remove(*os.Process) {}

// add puts a process into a job object of its own.
func (*guard) add(p *os.Process) (h handle, err error) {
	if h.job, err = windows.CreateJobObject(nil, nil); err != nil {
		return h, err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	if _, err = windows.SetInformationJobObject(h.job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err == nil {
		err = h.assign(uint32(p.Pid))
	}
	if err != nil {
		_ = p.Kill()
		_, _ = p.Wait()
		h.close()
	}
	return h, err
}

// handle is a job object.
type handle struct{ job windows.Handle }

func (h handle) assign(pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(process) }()
	return windows.AssignProcessToJobObject(h.job, process)
}

// terminate kills, because Windows has no signal by which a process without a console could be asked to end.
func (h handle) terminate() { h.kill() }
func (h handle) kill()      { _ = windows.TerminateJobObject(h.job, 1) }
func (h handle) close()     { _ = windows.CloseHandle(h.job) }

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

func exitCode(state *os.ProcessState) int { return state.ExitCode() }
