package smarthttp

import (
	"io"
	"net/http"
)

// flushing sends progress on at once.
type flushing struct{ http.ResponseWriter }

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	if err != nil {
		return n, err
	}
	return n, http.NewResponseController(f.ResponseWriter).Flush()
}

// flushPacket is how an answer to a push ends: git reads until it has come.
const flushPacket = len("0000")

// holdingBack passes on all but the last bytes, which wait for release.
type holdingBack struct {
	to   io.Writer
	kept []byte
}

func (h *holdingBack) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p...)
	ready := len(h.kept) - flushPacket
	if ready <= 0 {
		return len(p), nil
	}
	if _, err := h.to.Write(h.kept[:ready]); err != nil {
		return 0, err
	}
	h.kept = append(h.kept[:0], h.kept[ready:]...)
	return len(p), nil
}

func (h *holdingBack) release() error {
	_, err := h.to.Write(h.kept)
	return err
}
