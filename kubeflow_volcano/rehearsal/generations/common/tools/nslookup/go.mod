module kubeflow-volcano.invalid/rehearsal/nslookup

go 1.25.0
