package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"time"
)

// Reasons why there is no result, as errors.Is finds them in an ExceededError.
var (
	// ErrTime: it took more time than Limits.Time or Limits.Wall.
	ErrTime = errors.New("out of time")
	// ErrMemory: it took more than Limits.Memory, or ended in a way that nothing else explains.
	ErrMemory = errors.New("out of memory")
	// ErrSize: the result is larger than Limits.Bytes.
	ErrSize = errors.New("the result is too large")
)

// ExceededError says that what was to be done takes more than it may.
type ExceededError struct {
	reason error
	limit  string
	before bool
}

// NotBegun reports whether it was not done at all, since what was done before it took all the time
// there is.
func (e *ExceededError) NotBegun() bool { return e.before }

// Exceeds returns the limit, as one says "more than 10s".
func (e *ExceededError) Exceeds() string { return e.limit }

// Error implements error.
func (e *ExceededError) Error() string { return "it takes more than " + e.limit }

// Unwrap returns the reason.
func (e *ExceededError) Unwrap() error { return e.reason }

func (l Limits) exceeded(reason error) error {
	limit := l.Time.String() + " of processor time"
	switch {
	case errors.Is(reason, errWall):
		reason, limit = ErrTime, l.Wall.String()+" by the clock"
	case errors.Is(reason, ErrMemory):
		limit = fmt.Sprintf("%d MiB of memory", l.Memory>>20)
	case errors.Is(reason, ErrSize):
		limit = fmt.Sprintf("%d bytes for its result", l.Bytes)
	}
	return &ExceededError{reason: reason, limit: limit}
}

// errWall ends a process that takes longer than Limits.Wall.
var errWall = errors.New("out of time by the clock")

// Limits on one process.
type Limits struct {
	// Time of the processor that it may take: a busy machine does not change what can be done.
	Time time.Duration
	// Wall is the time that it may take by the clock, whatever it does then.
	Wall time.Duration
	// Memory in bytes.
	Memory int64
	// Bytes of its result.
	Bytes int64
	// Total is the processor time that all of a Turn may take together.
	Total time.Duration
}

// NoTotal lets a Turn take any time.
const NoTotal time.Duration = math.MaxInt64

// processName is what the process is called, where this program has its own name. Nothing else
// tells it that it is one: it has no environment.
const processName = "sluice-sandbox"

// ready is set once Main was called: a program that does not call it would run itself again and
// again.
var ready atomic.Bool

// Main serves in a process of the sandbox, and does not return there. In any other it returns at
// once. A program calls it before all else; serve must be the same everywhere.
func Main(serve func(input []byte) ([]byte, error)) {
	if len(os.Args) == 3 && os.Args[0] == processName {
		os.Exit(inside(os.Args[1], os.Args[2], serve)) //nolint:forbidigo // it is the main function of the process
	}
	ready.Store(true)
}

// The exit codes of a process. Go's own, for what it can't cope with, is 2.
const (
	exitDone   = 0
	exitFailed = 10
	exitMemory = 11
	exitBroken = 12
	exitTime   = 13
)

// run starts a process, gives it the input and waits for its result. It returns the processor time
// that this took, too.
func run(ctx context.Context, limits Limits, input []byte) ([]byte, time.Duration, error) {
	command, output, err := start(ctx, limits, input)
	took := time.Duration(0)
	if command != nil && command.ProcessState != nil {
		took = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	}
	return output, took, err
}

func start(ctx context.Context, limits Limits, input []byte) (*exec.Cmd, []byte, error) {
	if !ready.Load() {
		return nil, nil, errors.New("this program can't start a sandbox: its main function, or TestMain, must call sandbox.Main first")
	}
	path, err := self()
	if err != nil {
		return nil, nil, fmt.Errorf("find this program to start a sandbox: %w", err)
	}
	timed, cancel := context.WithTimeout(ctx, limits.Wall)
	defer cancel()
	output := &limited{left: limits.Bytes, full: cancel}
	command := exec.CommandContext(timed, path)
	command.Args = []string{processName, strconv.FormatInt(limits.Memory, 10), limits.Time.String()}
	command.Env = []string{} // not nil, which would be ours
	command.Dir = "/"
	command.Stdin, command.Stdout = bytes.NewReader(input), output
	command.WaitDelay = time.Second
	err = command.Run()
	switch state := command.ProcessState; {
	case err == nil:
		return command, output.data.Bytes(), nil
	case ctx.Err() != nil:
		err = ctx.Err()
	case output.exceeded:
		err = limits.exceeded(ErrSize)
	case timed.Err() != nil:
		err = limits.exceeded(errWall)
	case state == nil:
		err = fmt.Errorf("start a sandbox: %w", err)
	case state.ExitCode() == exitFailed:
		err = errors.New(output.data.String())
	case state.ExitCode() == exitBroken:
		err = fmt.Errorf("the sandbox could not be closed: %s", output.data.String())
	case state.ExitCode() == exitTime, state.UserTime()+state.SystemTime() >= limits.Time:
		err = limits.exceeded(ErrTime)
	default:
		err = limits.exceeded(ErrMemory)
	}
	return command, nil, err
}

// seconds returns whole seconds: the kernel's limit on the processor's time, which backs up the
// watch, is no finer.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// limited keeps what is written up to a limit, and ends the writer beyond it.
type limited struct {
	data     bytes.Buffer
	left     int64
	full     func()
	exceeded bool
}

func (l *limited) Write(data []byte) (int, error) {
	if l.left -= int64(len(data)); l.left < 0 {
		l.exceeded = true
		l.full()
		return 0, ErrSize
	}
	return l.data.Write(data)
}

// inside returns the whole life of the process.
func inside(memory, cpu string, serve func([]byte) ([]byte, error)) int {
	limit, err := strconv.ParseInt(memory, 10, 64)
	if err != nil {
		return say(exitBroken, err.Error())
	}
	processor, err := time.ParseDuration(cpu)
	if err != nil {
		return say(exitBroken, err.Error())
	}
	watch(limit, processor)
	if err := restrict(uint64(limit), uint64(seconds(processor))+1); err != nil {
		return say(exitBroken, err.Error())
	}
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return say(exitFailed, err.Error())
	}
	output, err := served(serve, input)
	if err != nil {
		return say(exitFailed, err.Error())
	}
	return say(exitDone, string(output))
}

func say(code int, text string) int {
	if _, err := io.WriteString(os.Stdout, text); err != nil {
		return exitBroken
	}
	return code
}

func served(serve func([]byte) ([]byte, error), input []byte) (output []byte, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("it can't cope with this: %v", reason)
		}
	}()
	return serve(input)
}
