package node

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Address is the address of this machine inside: what pods reach it at, and what it calls itself.
const Address = "10.254.0.1"

// prepareMounts has everything that programs write outside of the state folder be of this run only:
// sockets and process ids, logs, the network plugins' notes, and where kubelets take devices.
func prepareMounts(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("part mounts from the machine's: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, place := range []string{"/run", "/var/log", "/var/lib/cni", deviceDir, filepath.Join(dir, containerdDir)} {
		if err := os.MkdirAll(place, 0o755); err != nil {
			return fmt.Errorf("make folder to mount on: %w", err)
		}
		if err := unix.Mount("tmpfs", place, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
			return fmt.Errorf("mount %s: %w", place, err)
		}
	}
	return protectSettings()
}

// kubeletSettings are what kubelet insists on writing, for the whole machine.
var kubeletSettings = []string{
	"kernel/keys/root_maxbytes", "kernel/keys/root_maxkeys", "kernel/panic", "kernel/panic_on_oops",
	"vm/overcommit_memory", "vm/panic_on_oom",
}

// protectSettings makes the kernel's settings read-only, except the network's, which belong to the
// namespace. kubelet writes to files that replace them.
func protectSettings() error {
	const all, network = "/proc/sys", "/proc/sys/net"
	if err := errors.Join(bind(all, all), bind(network, network)); err != nil {
		return err
	}
	const flags = unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("", all, "", flags, ""); err != nil {
		return fmt.Errorf("protect %s: %w", all, err)
	}
	for _, name := range kubeletSettings {
		if err := standIn(filepath.Join(all, name), filepath.Join("/run/settings", name)); err != nil {
			return err
		}
	}
	return nil
}

// standIn has a file with the content of a setting be in its place.
func standIn(setting, file string) error {
	value, err := os.ReadFile(setting)
	if err != nil {
		return fmt.Errorf("read setting: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("stand in for %s: %w", setting, err)
	}
	if err := os.WriteFile(file, value, 0o600); err != nil {
		return fmt.Errorf("stand in for %s: %w", setting, err)
	}
	return bind(file, setting)
}

func bind(source, place string) error {
	if err := unix.Mount(source, place, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s: %w", place, err)
	}
	return nil
}

// prepareNetwork brings loopback up, and gives it Address as well: pods reach it through the
// bridge, which has none before there is a pod.
func prepareNetwork() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open socket: %w", err)
	}
	defer unix.Close(socket)
	if err := bringUp(socket, "lo"); err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	if err := addAddress(socket, "lo:node", Address); err != nil {
		return fmt.Errorf("add %s: %w", Address, err)
	}
	return nil
}

func bringUp(socket int, device string) error {
	request, err := unix.NewIfreq(device)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}

// addAddress gives a device an address and no network around it. The label after the colon makes
// it one address more.
func addAddress(socket int, label, address string) error {
	for _, set := range []struct {
		request uint
		value   net.IP
	}{
		{unix.SIOCSIFADDR, net.ParseIP(address).To4()},
		{unix.SIOCSIFNETMASK, net.IPv4bcast.To4()},
	} {
		request, err := unix.NewIfreq(label)
		if err != nil {
			return err
		}
		if err := request.SetInet4Addr(set.value); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(socket, set.request, request); err != nil {
			return err
		}
	}
	return nil
}
