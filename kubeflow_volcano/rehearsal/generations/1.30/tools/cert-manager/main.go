// cert-manager's controller, webhook and cainjector in one program: `cert-manager controller|webhook|cainjector FLAGS`.
//
// Upstream's main packages are in Go modules of their own that are not published, so this connects the packages of the
// published module. It knows the flags of upstream's manifest, and no others. Issuers are those that work without other
// services: CA and self-signed.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"

	logf "github.com/cert-manager/cert-manager/pkg/logs"
)

// How a replica takes over: upstream's defaults, in internal/apis/config/*/v1alpha1/defaults.go.
const (
	leaseDuration = 60 * time.Second
	renewDeadline = 40 * time.Second
	retryPeriod   = 15 * time.Second
)

// component declares its flags and returns what runs until the context ends.
type component func(flags *pflag.FlagSet) (func(context.Context) error, error)

var components = map[string]component{"cainjector": cainjector, "controller": controllers, "webhook": webhook}

func main() {
	if len(os.Args) < 2 || components[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "the first argument must be cainjector, controller or webhook")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(name string, arguments []string) error {
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	work, err := components[name](flags)
	if err != nil {
		return err
	}
	logging, own := logsapi.NewLoggingConfiguration(), flags.Lookup("v") != nil // the webhook has its own
	if !own {
		logf.AddFlags(logging, flags)
	}
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	logs.InitLogs()
	defer logs.FlushLogs()
	if !own {
		if err := logf.ValidateAndApply(logging); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return work(ctx)
}
