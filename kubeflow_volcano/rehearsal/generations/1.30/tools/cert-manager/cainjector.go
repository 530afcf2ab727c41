package main

import (
	"context"
	"errors"

	"github.com/spf13/pflag"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubernetes "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	injectors "github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util"
)

func cainjector(flags *pflag.FlagSet) (func(context.Context) error, error) {
	leases := flags.String("leader-election-namespace", "kube-system", "Namespace of the leader's Lease")
	scheme := runtime.NewScheme()
	err := errors.Join(
		kubernetes.AddToScheme(scheme),
		certmanager.AddToScheme(scheme),
		apiextensions.AddToScheme(scheme),
		apiregistration.AddToScheme(scheme),
	)
	return func(ctx context.Context) error {
		ctrl.SetLogger(logf.Log)
		config, err := clientcmd.BuildConfigFromFlags("", "")
		if err != nil {
			return err
		}
		lease, renew, retry := leaseDuration, renewDeadline, retryPeriod
		manager, err := ctrl.NewManager(util.RestConfigWithUserAgent(config, "cainjector"), ctrl.Options{
			Scheme:                        scheme,
			Metrics:                       metrics.Options{BindAddress: "0"}, // upstream 1.14 serves none either
			LeaderElection:                true,
			LeaderElectionNamespace:       *leases,
			LeaderElectionID:              "cert-manager-cainjector-leader-election", // the name that its Role allows
			LeaderElectionReleaseOnCancel: true,
			LeaderElectionResourceLock:    resourcelock.LeasesResourceLock,
			LeaseDuration:                 &lease,
			RenewDeadline:                 &renew,
			RetryPeriod:                   &retry,
		})
		if err != nil {
			return err
		}
		err = injectors.RegisterAllInjectors(ctx, manager, injectors.SetupOptions{
			EnableCertificatesDataSource: true,
			EnabledReconcilersFor: map[string]bool{
				injectors.APIServiceName:                     true,
				injectors.CustomResourceDefinitionName:       true,
				injectors.MutatingWebhookConfigurationName:   true,
				injectors.ValidatingWebhookConfigurationName: true,
			},
		})
		if err != nil {
			return err
		}
		return manager.Start(ctx)
	}, err
}
