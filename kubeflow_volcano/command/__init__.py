"""The console command `kubeflow-volcano`: one name for what validators, rehearsal and deriving do with the rest."""
