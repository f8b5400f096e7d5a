package runner

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/testfile"
)

// program is the running program of a webhook.
type program struct {
	command *exec.Cmd
	folder  string
	// running ends when the program has ended.
	running context.Context

	mu   sync.Mutex
	last []string
	err  error
}

// keptLines is the number of lines of a program's output that an error shows.
const keptLines = 10

// stopTimeout is the time for which a program may clean up after the signal to end.
const stopTimeout = 2 * time.Second

// startProgram starts the command of a webhook. The values are those of the environment variables. The folder, which has
// the certificate, is removed when the program is stopped.
func startProgram(w testfile.Webhook, dir, folder string, values map[string]string, log func(string)) (*program, error) {
	replacer := strings.NewReplacer("{port}", values["PORT"], "{certs}", values["CERT_DIR"], "{cert}", values["CERT_FILE"], "{key}", values["KEY_FILE"])
	var arguments []string
	for _, argument := range w.Command {
		arguments = append(arguments, replacer.Replace(argument))
	}
	p := &program{command: exec.Command(arguments[0], arguments[1:]...), folder: folder}
	p.command.Dir, p.command.Env = dir, os.Environ()
	for _, more := range []map[string]string{values, w.Env} {
		for name, value := range more {
			p.command.Env = append(p.command.Env, name+"="+value)
		}
	}
	output, into := io.Pipe()
	p.command.Stdout, p.command.Stderr = into, into
	inGroup(p.command)
	if err := p.command.Start(); err != nil {
		_ = os.RemoveAll(folder) // the error of the start says what is wrong
		return nil, fmt.Errorf("command %q: %w", w.Command, err)
	}
	running, end := context.WithCancel(context.Background())
	p.running = running
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			p.add(lines.Text())
			log(w.Command[0] + ": " + lines.Text())
		}
		_, _ = io.Copy(io.Discard, output) // a line that is too long ends the scanner
	}()
	go func() {
		defer end()
		err := p.command.Wait()
		_ = into.Close()
		<-read
		p.mu.Lock()
		defer p.mu.Unlock()
		p.err = err
	}()
	return p, nil
}

func (p *program) add(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last = append(p.last, line); len(p.last) > keptLines {
		p.last = p.last[1:]
	}
}

// failure returns the error of a program that has ended.
func (p *program) failure() error {
	p.mu.Lock()
	err := p.err
	p.mu.Unlock()
	if err == nil {
		return fmt.Errorf("exit status 0%s", p.lastLines())
	}
	return fmt.Errorf("%w%s", err, p.lastLines())
}

// lastLines returns the end of the program's output for an error, or "".
func (p *program) lastLines() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.last) == 0 {
		return ""
	}
	return "; its last output: " + strings.Join(p.last, " | ")
}

// stop ends the program and the processes that it has started.
func (p *program) stop() {
	terminate(p.command)
	ctx, cancel := context.WithTimeout(p.running, stopTimeout)
	defer cancel()
	<-ctx.Done()
	kill(p.command)
	<-p.running.Done()
	_ = os.RemoveAll(p.folder) // a folder that is left doesn't change the results
}
