package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"

	"github.com/cert-manager/cert-manager/pkg/acme/accounts"
	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/metrics"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	"github.com/cert-manager/cert-manager/pkg/healthz"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/metrics"
)

// Upstream's defaults, in internal/apis/config/controller/v1alpha1/defaults.go, which imports every cloud's client.
const (
	metricsAddress    = "0.0.0.0:9402"
	healthzAddress    = "0.0.0.0:9403"
	workers           = 5
	electionTolerance = 20 * time.Second
)

func controllers(flags *pflag.FlagSet) (func(context.Context) error, error) {
	options := controller.ContextOptions{
		KubernetesAPIQPS:   20,
		KubernetesAPIBurst: 50,
		Clock:              clock.RealClock{},
		ACMEOptions:        controller.ACMEOptions{AccountRegistry: accounts.NewDefaultRegistry()},
		CertificateOptions: controller.CertificateOptions{
			CopiedAnnotationPrefixes: []string{"*", "-kubectl.kubernetes.io/", "-fluxcd.io/", "-argocd.argoproj.io/"},
		},
	}
	leases := flags.String("leader-election-namespace", "kube-system", "Namespace of the leader's Lease")
	flags.StringVar(&options.ClusterResourceNamespace, "cluster-resource-namespace", "kube-system",
		"Namespace of Secrets of ClusterIssuers")
	flags.StringVar(&options.HTTP01SolverImage, "acme-http01-solver-image", "", "Not used: there is no ACME issuer")
	flags.IntVar(&options.MaxConcurrentChallenges, "max-concurrent-challenges", 60, "Not used: there is no ACME issuer")
	return func(ctx context.Context) error {
		options.Metrics = metrics.New(logf.Log, options.Clock)
		group, ctx := errgroup.WithContext(logf.NewContext(ctx, logf.Log, "controller"))
		factory, err := controller.NewContextFactory(ctx, options)
		if err != nil {
			return err
		}
		health := healthz.NewServer(electionTolerance)
		healthSocket, err := net.Listen("tcp", healthzAddress)
		if err != nil {
			return err
		}
		metricsSocket, err := net.Listen("tcp", metricsAddress)
		if err != nil {
			return err
		}
		server := options.Metrics.NewServer(metricsSocket)
		group.Go(func() error { return health.Start(ctx, healthSocket) })
		group.Go(func() error { return server.Serve(metricsSocket) })
		group.Go(func() error {
			<-ctx.Done()
			return server.Close()
		})
		group.Go(func() error { return lead(ctx, *leases, factory, health.LeaderHealthzAdaptor) })
		return group.Wait()
	}, nil
}

// lead runs the controllers while this replica holds the Lease.
func lead(
	ctx context.Context, namespace string, factory *controller.ContextFactory, watchdog *leaderelection.HealthzAdaptor,
) error {
	own, err := factory.Build("leader-election")
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	const lease = "cert-manager-controller" // the name that its Role allows
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, lease, own.Client.CoreV1(),
		own.Client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: host, EventRecorder: own.Recorder})
	if err != nil {
		return err
	}
	result := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		LeaseDuration:   leaseDuration,
		RenewDeadline:   renewDeadline,
		RetryPeriod:     retryPeriod,
		ReleaseOnCancel: true,
		Name:            lease,
		WatchDog:        watchdog,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { result <- control(ctx, factory) },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		if err := <-result; err != nil {
			logf.Log.Error(err, "controllers ended")
		}
		stop()
	}()
	elector.Run(running)
	if ctx.Err() == nil {
		return fmt.Errorf("the controllers ended, or the Lease %s/%s was lost", namespace, lease)
	}
	return nil
}

func control(ctx context.Context, factory *controller.ContextFactory) error {
	own, err := factory.Build()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for name, construct := range controller.Known() {
		instance, err := construct(factory)
		if err != nil {
			return fmt.Errorf("controller %s: %w", name, err)
		}
		group.Go(func() error { return instance.Run(workers, ctx.Done()) })
	}
	own.SharedInformerFactory.Start(ctx.Done())
	own.KubeSharedInformerFactory.Start(ctx.Done())
	own.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	return group.Wait()
}
