package main

import (
	"context"

	"github.com/spf13/pflag"

	cmwebhook "github.com/cert-manager/cert-manager/internal/webhook"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/webhook/options"
)

func webhook(flags *pflag.FlagSet) (func(context.Context) error, error) {
	config, err := options.NewWebhookConfiguration()
	if err != nil {
		return nil, err
	}
	options.AddConfigFlags(flags, config)
	return func(ctx context.Context) error {
		if err := logf.ValidateAndApply(&config.Logging); err != nil {
			return err
		}
		server, err := cmwebhook.NewCertManagerWebhookServer(logf.Log.WithName("webhook"), *config)
		if err != nil {
			return err
		}
		return server.Run(ctx)
	}, nil
}
