"""The console command `kubeflow-volcano`: one name for validators and rehearsal, which parse what follows it."""
