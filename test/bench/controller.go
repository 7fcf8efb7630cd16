package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// endPatience is how long a controller may take to end.
const endPatience = 20 * time.Second

// controller is the one of Sluice or Argo Rollouts, in a process of its own.
type controller struct {
	cmd   *exec.Cmd
	begun time.Time
	log   string // path
	probe string // URL that says whether it is ready
	ended chan struct{}
	err   error // how it ended, once it has
}

// startController runs "sluice controller" as it is shipped, leader election included, and
// returns when it is ready.
func (l *lab) startController(ctx context.Context, flags ...string) (*controller, error) {
	probe, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	args := append([]string{"controller", "--kubeconfig", cmp.Or(l.kubeconfig, l.plane.Kubeconfig), "--probe-address", probe, "--metrics-address", "0"}, flags...)
	if l.kubeconfig != "" {
		args = append(args, "--leader-elect-namespace", "sluice-system")
	}
	return l.launch(ctx, "http://"+probe+"/readyz", l.sluice, args)
}

// launch starts the program of a controller, and returns when its probe says that it is ready.
func (l *lab) launch(ctx context.Context, probe, program string, args []string) (*controller, error) {
	c := &controller{
		log:   filepath.Join(l.logs, fmt.Sprintf("controller-%d.log", l.controllers.Add(1))),
		probe: probe,
		ended: make(chan struct{}),
	}
	if err := c.start(program, args); err != nil {
		return nil, err
	}
	if err := poll(ctx, c.ready); err != nil {
		return nil, errors.Join(fmt.Errorf("wait for the controller: %w", err), c.stop())
	}
	return c, nil
}

func (c *controller) start(program string, args []string) error {
	log, err := os.Create(c.log)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer log.Close() // the child has its own
	// It ends by stop alone, after what is still to be counted.
	c.cmd = exec.CommandContext(context.Background(), program, args...)
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.begun = time.Now()
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("start controller: %w", err)
	}
	go func() {
		defer close(c.ended)
		c.err = c.cmd.Wait()
	}()
	return nil
}

// ready asks the controller whether its cache has caught up. One that has ended never will be;
// stop then says why.
func (c *controller) ready(ctx context.Context) bool {
	select {
	case <-c.ended:
		return true
	default:
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.probe, http.NoBody)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// while returns a context that ends with the controller.
func (c *controller) while(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-c.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// stop ends the controller and waits until it has. It is an error if it had ended by itself.
func (c *controller) stop() error {
	select {
	case <-c.ended:
		return fmt.Errorf("the controller ended: %w; its log ends with\n%s", errors.Join(c.err, errors.New("unasked")), c.lastLines())
	default:
	}
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		return fmt.Errorf("end controller: %w", err)
	}
	kill := time.AfterFunc(endPatience, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	<-c.ended
	if c.err != nil {
		return fmt.Errorf("end controller: %w; its log ends with\n%s", c.err, c.lastLines())
	}
	return nil
}

func (c *controller) lastLines() []byte {
	const most = 10
	content, err := os.ReadFile(c.log)
	if err != nil {
		return []byte(err.Error())
	}
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-most):], []byte("\n"))
}

// usage returns what the controller has used so far.
func (c *controller) usage() (usage, error) { return usageOf(c.cmd.Process.Pid) }

// freeAddress returns a loopback address that nobody listens on right now.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// usage is the CPU time and memory of a process.
type usage struct {
	// cpu in user and kernel mode, of all threads.
	cpu time.Duration
	// memory and peak are the resident set now and at most, in bytes.
	memory, peak int64
}
