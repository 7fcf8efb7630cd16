package main

import (
	"fmt"
	"io"
	"net"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/sluice-dev/sluice/internal/app"
)

// checkAddress refuses what can't be listened on.
func checkAddress(flag, address string) error {
	if address == app.Off {
		return nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("--%s %q must be host:port, or 0 for none: %w", flag, address, err)
	}
	return nil
}

// logFlags say how to log.
type logFlags struct{ format, level string }

func (f *logFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.format, "log-format", "json", "`format` of the log: json (one object in each line), or console")
	set.StringVar(&f.level, "log-level", "info", "lowest `level` to log: debug, info, warn or error")
}

// logger writes to w, one line at a time.
func (f *logFlags) logger(w io.Writer) (logr.Logger, error) {
	level, err := zapcore.ParseLevel(f.level)
	if err != nil {
		return logr.Logger{}, fmt.Errorf("--log-level %q is not one of debug, info, warn, error", f.level)
	}
	encoder, err := f.encoder()
	if err != nil {
		return logr.Logger{}, err
	}
	return zap.New(
		zap.WriteTo(zapcore.Lock(zapcore.AddSync(w))),
		zap.Level(level),
		zap.StacktraceLevel(zapcore.PanicLevel), // errors say where they come from by how they are wrapped
		encoder,
	), nil
}

func (f *logFlags) encoder() (zap.Opts, error) {
	switch f.format {
	case "json":
		return zap.JSONEncoder(rfc3339), nil
	case "console":
		return zap.ConsoleEncoder(rfc3339), nil
	default:
		return nil, fmt.Errorf("--log-format %q is not one of json, console", f.format)
	}
}

func rfc3339(config *zapcore.EncoderConfig) { config.EncodeTime = zapcore.RFC3339NanoTimeEncoder }
