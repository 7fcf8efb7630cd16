package gittest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/crypto/ssh"
)

// SSHServer serves the repositories below a folder with git upload-pack.
type SSHServer struct {
	root     string
	config   ssh.ServerConfig
	listener net.Listener
	running  sync.WaitGroup
	// Old makes the server ignore requests for a version of Git's protocol.
	Old atomic.Bool
	// Sent counts the bytes that repositories have sent.
	Sent atomic.Int64

	mu    sync.Mutex
	conns []net.Conn
}

// ServeSSH starts a server on loopback that has the given host keys and lets in
// who has the given key.
func ServeSSH(root string, client ssh.PublicKey, hostKeys ...ssh.Signer) (*SSHServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for ssh: %w", err)
	}
	s := &SSHServer{root: root, listener: listener}
	s.config.PublicKeyCallback = func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(key.Marshal(), client.Marshal()) {
			return nil, errors.New("unknown key")
		}
		return nil, nil
	}
	for _, key := range hostKeys {
		s.config.AddHostKey(key)
	}
	s.running.Go(s.accept)
	return s, nil
}

// Addr returns the host and port of the server.
func (s *SSHServer) Addr() string { return s.listener.Addr().String() }

// Close ends the server and all its connections.
func (s *SSHServer) Close() {
	s.listener.Close()
	s.mu.Lock()
	for _, conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

func (s *SSHServer) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, conn)
		s.mu.Unlock()
		s.running.Go(func() { s.serve(conn) })
	}
}

func (s *SSHServer) serve(conn net.Conn) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, &s.config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		if offered.ChannelType() != "session" {
			_ = offered.Reject(ssh.UnknownChannelType, "only sessions are served")
			continue
		}
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		s.running.Go(func() { s.session(channel, requests) })
	}
}

func (s *SSHServer) session(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	environment := Environment()
	for req := range requests {
		var exec struct{ Command string }
		var env struct{ Name, Value string }
		if req.Type == "env" && ssh.Unmarshal(req.Payload, &env) == nil && env.Name == "GIT_PROTOCOL" && !s.Old.Load() {
			environment = append(environment, env.Name+"="+env.Value)
			_ = req.Reply(true, nil)
			continue
		}
		if req.Type != "exec" || ssh.Unmarshal(req.Payload, &exec) != nil {
			_ = req.Reply(false, nil)
			continue
		}
		_ = req.Reply(true, nil)
		status := struct{ Status uint32 }{s.run(channel, exec.Command, environment)}
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(&status))
		return
	}
}

func (s *SSHServer) run(channel ssh.Channel, command string, environment []string) uint32 {
	path, found := strings.CutPrefix(command, "git-upload-pack ")
	if !found {
		fmt.Fprintln(channel.Stderr(), "only git-upload-pack is served")
		return 1
	}
	dir := filepath.Join(s.root, filepath.Base(strings.Trim(path, "'")))
	cmd := exec.Command("git", "upload-pack", dir)
	cmd.Env = environment
	cmd.Stdout, cmd.Stderr = counting{channel, &s.Sent}, channel.Stderr()
	stdin, err := cmd.StdinPipe() // not cmd.Stdin: Run would wait for the client to end its input
	if err != nil {
		return 1
	}
	s.running.Go(func() {
		_, _ = io.Copy(stdin, channel)
		stdin.Close()
	})
	if err := cmd.Run(); err != nil {
		return 128
	}
	return 0
}

// counting counts the bytes that are written.
type counting struct {
	io.Writer
	bytes *atomic.Int64
}

// Write implements io.Writer.
func (c counting) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))
	return c.Writer.Write(p)
}
